//! The memory of a member is bounded: a child process with a small limit is offered far more than that, and lives on.

use crate::line::{blob, int};
use crate::process::Process;
use filbert_wire::messages::error::ErrorCode;
use filbert_wire::messages::{list, map, queue};

/// What one value has.
const VALUE: usize = 256 << 10;
/// Values that are offered to each structure: 160 MiB, four times what all may hold.
const OFFERED: i32 = 640;

/// The member was killed by the system, and every map with it.
#[test]
fn a_member_that_is_offered_too_much_refuses_and_goes_on() {
    // Three fifths of it are for data.
    let member = Process::start("[memory]\nlimit_bytes = 67108864");
    let mut client = member.client();
    let before = member.resident();
    let set = |number| map::Set {
        name: "m".into(),
        key: int(number),
        value: blob(VALUE),
        thread_id: 1,
        ttl_ms: -1,
    };
    let (mut taken, mut refused) = (0, 0);
    for number in 0..OFFERED {
        let offered = [
            client.call(&set(number)).map(drop),
            client.call(&list::Add { name: "l".into(), value: blob(VALUE) }).map(drop),
            client.call(&queue::Offer { name: "q".into(), value: blob(VALUE), timeout_ms: 0 }).map(drop),
        ];
        for answer in offered {
            match answer {
                Ok(()) => taken += 1,
                Err(error) => {
                    assert_eq!(error.errors[0].code, ErrorCode::Overload as i32);
                    let text = error.errors[0].message.as_deref().unwrap_or_default();
                    assert!(text.contains("grid.memory_bytes"), "{text}");
                    refused += 1;
                }
            }
        }
    }
    assert!(taken >= 100 && refused >= 1_500, "{taken} taken, {refused} refused");
    let grown = member.resident().saturating_sub(before);
    assert!(grown < 128 << 20, "{grown} bytes more, of {} offered", 3 * OFFERED as usize * VALUE);
    let get = map::Get { name: "m".into(), key: int(0), thread_id: 1 };
    assert_eq!(client.call(&get).unwrap().value, Some(blob(VALUE)));
    client.call(&map::Clear { name: "m".into() }).unwrap();
    assert_eq!(client.call(&get).unwrap().value, None);
    client.call(&set(1)).unwrap();
    assert!(member.is_alive());
}
