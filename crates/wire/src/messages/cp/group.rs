//! Groups, and the end of what is in them.

use crate::field::Text;
use crate::messages::answers::Done;
use crate::messages::service;
use crate::messages::structures::RaftGroupId;

service! {
    "CPGroup" = 0x1e;
    0x01 "createCPGroup" CreateCpGroup { proxy_name: Text } => CpGroup {
        /// The group that the name says.
        group: RaftGroupId,
    };
    0x02 "destroyCPObject" DestroyCpObject { group: RaftGroupId, service_name: Text, object_name: Text } => Done;
}
