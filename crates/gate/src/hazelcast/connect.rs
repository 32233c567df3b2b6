//! Login, the view of the cluster, structures by name, schemas: what clients send before and beside their work.

use super::answering::Later;
use super::call::Call;
use super::failure::{Failure, Handled};
use super::host::{COMPATIBLE, Host};
use super::login::{SERIALIZATION, Status};
use super::structures;
use bytes::BytesMut;
use filbert_grid::{Action, Allowance, Change, Service};
use filbert_net::ConnectionInfo;
use filbert_wire::PARTITION_COUNT;
use filbert_wire::message::{MessageReader, Raises, Request, encode_event};
use filbert_wire::messages::answers::{Done, Flag, Registered};
use filbert_wire::messages::client::{
    AddClusterViewListener, AddDistributedObjectListener, Authenticated, Authentication,
    AuthenticationCustom, CreateProxies, CreateProxy, DestroyProxy, DistributedObjectEvent,
    DistributedObjects, GetDistributedObjects, LocalBackupListener, MembersView, PartitionsView, Ping,
    RemoveDistributedObjectListener, Statistics,
};
use filbert_wire::messages::error::ErrorCode;
use filbert_wire::messages::structures::DistributedObjectInfo;
use std::sync::Arc;

/// What a client is told about a login. Nothing of the member when it failed.
pub(super) fn answer_login(
    host: &Host,
    info: &ConnectionInfo,
    status: Status,
    reader: &MessageReader,
    out: &mut BytesMut,
) {
    let known = status == Status::Authenticated;
    let answer = Authenticated {
        status: status as i8,
        address: known.then(|| host.address_for(info)),
        member_uuid: known.then(|| host.grid.member()),
        serialization_version: SERIALIZATION,
        server_hazelcast_version: COMPATIBLE.into(),
        partition_count: if known { PARTITION_COUNT as i32 } else { -1 },
        cluster_id: if known { host.cluster } else { uuid::Uuid::nil() },
        failover_supported: false,
        tpc_ports: None,
        tpc_token: None,
        member_list_version: if known { VIEW_VERSION } else { -1 },
        member_infos: Some(if known { host.members(info) } else { Vec::new() }),
        partition_list_version: if known { VIEW_VERSION } else { -1 },
        partitions: Some(if known { host.partitions() } else { Default::default() }),
        key_value_pairs: Vec::new(),
    };
    match reader.id() {
        AuthenticationCustom::ID => AuthenticationCustom::respond(&answer, reader.correlation(), out),
        _ => Authentication::respond(&answer, reader.correlation(), out),
    }
}

/// One member, which never changes: neither does the view.
const VIEW_VERSION: i32 = 1;

pub(super) fn logged_in_already<R: Request>(_call: Call<'_, R>, _request: R) -> Handled {
    let text = "this connection is logged in already; who it is cannot be changed, open another";
    Err(Failure::new(ErrorCode::IllegalState, text))
}

pub(super) fn ping(call: Call<'_, Ping>, _request: Ping) -> Handled {
    call.now(Done {})
}

pub(super) fn add_cluster_view_listener(
    call: Call<'_, AddClusterViewListener>,
    _request: AddClusterViewListener,
) -> Handled {
    let (host, info) = (Arc::clone(&call.desk.host), call.desk.info.clone());
    call.answer_then(Done {}, |correlation, out| {
        let members = MembersView { version: VIEW_VERSION, member_infos: host.members(&info) };
        AddClusterViewListener::raise(&members, correlation, out);
        let partitions = PartitionsView { version: VIEW_VERSION, partitions: host.partitions() };
        AddClusterViewListener::raise(&partitions, correlation, out);
    })
}

/// There are no backups with one member, so nothing will be raised.
pub(super) fn local_backup_listener(
    call: Call<'_, LocalBackupListener>,
    _request: LocalBackupListener,
) -> Handled {
    let registration = call.registration()?;
    call.desk.registrations.add(registration, || true);
    call.now(Registered { registration })
}

pub(super) fn statistics(call: Call<'_, Statistics>, request: Statistics) -> Handled {
    call.desk.host.clients.say(call.client(), &request.client_attributes);
    call.now(Done {})
}

pub(super) fn create_proxy(call: Call<'_, CreateProxy>, request: CreateProxy) -> Handled {
    if let Some(service) = may_create(&call, &request.service_name, &request.name)? {
        structures::make(&call.desk.host, service, &request.name)?;
    }
    call.now(Done {})
}

/// Structures that are made in one go. More are made elsewhere, since the other connections of an io loop wait meanwhile, and so many at
/// a time.
const MADE_AT_ONCE: usize = 64;

/// What a client that comes back after a restart had before.
pub(super) fn create_proxies(call: Call<'_, CreateProxies>, request: CreateProxies) -> Handled {
    let mut wanted = Vec::with_capacity(request.proxies.len());
    for (name, service_name) in request.proxies {
        wanted.extend(may_create(&call, &service_name, &name)?.map(|service| (service, name)));
    }
    let host = Arc::clone(&call.desk.host);
    if wanted.len() > MADE_AT_ONCE {
        if let Some(later) = call.answering().later() {
            make_in_slices(host, wanted.into_iter(), later);
        }
        return Ok(());
    }
    wanted.iter().try_for_each(|(service, name)| structures::make(&host, *service, name))?;
    call.now(Done {})
}

/// Makes structures on the `generic` stage, some in each task. A stage that takes none drops the answer, which then says so.
fn make_in_slices<N>(
    host: Arc<Host>,
    mut wanted: std::vec::IntoIter<(Service, N)>,
    later: Later<CreateProxies>,
) where
    N: AsRef<str> + Send + 'static,
{
    let stages = host.grid.stages().clone();
    let slice = move || {
        let made = wanted.by_ref().take(MADE_AT_ONCE);
        let made = made.map(|(service, name)| structures::make(&host, service, name.as_ref()));
        match made.collect::<Result<(), _>>() {
            Err(refused) => later.refuse(refused),
            Ok(()) if wanted.len() == 0 => later.answer(&Done {}, Allowance::default()),
            Ok(()) => make_in_slices(host, wanted, later),
        }
    };
    if let Ok(running) = stages.generic().submit("hazelcast.create_proxies", slice) {
        running.detach();
    }
}

/// The kind of a structure that is to be made; nothing when the user may use it once it is there, and not make it.
fn may_create<R: Request>(
    call: &Call<'_, R>,
    service_name: &str,
    name: &str,
) -> Result<Option<Service>, Failure> {
    let service = structures::service_of(service_name)?;
    let actions = call.desk.actions(service, name);
    if !actions.any() {
        return Err(call.desk.denied(Action::Create, service, name));
    }
    // A proxy is only a name: whoever may not make the structure may wait for it to be made.
    Ok(actions.may_make().then_some(service))
}

pub(super) fn destroy_proxy(call: Call<'_, DestroyProxy>, request: DestroyProxy) -> Handled {
    let service = structures::service_of(&request.service_name)?;
    let actions = call.desk.actions(service, &request.name);
    call.desk.check(actions, Action::Destroy, service, &request.name)?;
    structures::destroy(&call.desk.host, service, &request.name)?;
    call.now(Done {})
}

pub(super) fn get_distributed_objects(
    call: Call<'_, GetDistributedObjects>,
    _request: GetDistributedObjects,
) -> Handled {
    let all = call.desk.host.grid.structures().list();
    let seen = all
        .into_iter()
        .filter(|(service, name)| structures::is_listed(*service) && call.desk.actions(*service, name).any());
    let object = |(service, name): (Service, Arc<str>)| DistributedObjectInfo {
        service_name: structures::name_of(service).into(),
        name: (&*name).into(),
    };
    let objects = seen.map(object).collect();
    call.now(DistributedObjects { objects })
}

pub(super) fn add_distributed_object_listener(
    call: Call<'_, AddDistributedObjectListener>,
    _request: AddDistributedObjectListener,
) -> Handled {
    let registration = call.registration()?;
    let (outlet, correlation) = (call.outlet().clone(), call.correlation());
    let (source, rights) = (call.desk.host.grid.member(), Arc::clone(&call.desk.identity.rights));
    let watcher = call.desk.host.grid.structures().watch(move |change, service, name| {
        if !structures::is_listed(service) || !rights.of(service, name).any() {
            return;
        }
        let event_type = match change {
            Change::Created => "CREATED",
            Change::Destroyed => "DESTROYED",
        };
        let event = DistributedObjectEvent {
            name: (&**name).into(),
            service_name: structures::name_of(service).into(),
            event_type: event_type.into(),
            source,
        };
        let mut out = BytesMut::new();
        let id = <AddDistributedObjectListener as Raises<DistributedObjectEvent>>::EVENT_ID;
        encode_event(&event, id, correlation, None, &mut out);
        // A connection that is gone listens no more.
        let _ = outlet.send(out);
    });
    let grid = call.desk.host.grid.clone();
    call.desk.registrations.add(registration, move || grid.structures().unwatch(watcher));
    call.now(Registered { registration })
}

pub(super) fn remove_distributed_object_listener(
    call: Call<'_, RemoveDistributedObjectListener>,
    request: RemoveDistributedObjectListener,
) -> Handled {
    let value = call.desk.registrations.remove(request.registration_id);
    call.now(Flag { value })
}
