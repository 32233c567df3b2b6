//! Entries that come with what another map knew of them.

use crate::line::{Client, Member, int};
use filbert_grid::{GridSettings, MapSettings};
use filbert_wire::messages::map::{GetEntryView, PutAllWithMetadata};
use filbert_wire::messages::structures::SimpleEntryView;

/// A time long ago, so that no clock of a test comes near it.
const CREATED: i64 = 1_000_000_000_000;

fn view(key: i32) -> SimpleEntryView {
    SimpleEntryView {
        key: int(key),
        value: int(-key),
        cost: 0,
        creation_time_ms: CREATED,
        expiration_time_ms: i64::MAX,
        hits: 7,
        last_access_time_ms: CREATED + 1,
        last_stored_time_ms: -1,
        last_update_time_ms: CREATED + 2,
        version: 5,
        ttl_ms: i64::MAX,
        max_idle_ms: i64::MAX,
    }
}

fn there(client: &mut Client, map: &str, key: i32) -> Option<SimpleEntryView> {
    client.call(&GetEntryView { name: map.into(), key: int(key), thread_id: 1 }).unwrap().view
}

#[test]
fn entries_keep_their_past_as_far_as_the_map_does() {
    let mut settings = GridSettings::default();
    settings.maps.set("kept", MapSettings { per_entry_stats: true, ..MapSettings::default() });
    let member = Member::with_grid(settings);
    let mut client = member.client();
    let far = CREATED * 10;
    let entries = vec![
        view(1),
        SimpleEntryView { ttl_ms: far, expiration_time_ms: far, ..view(2) },
        // Its time was over before it came.
        SimpleEntryView { ttl_ms: 1_000, expiration_time_ms: CREATED + 1_000, ..view(3) },
        // Idle for that long it may be from now on; the end of its time to live is known by when it was written.
        SimpleEntryView { ttl_ms: far, max_idle_ms: far, expiration_time_ms: 5, ..view(4) },
    ];
    for map in ["kept", "plain"] {
        client.call(&PutAllWithMetadata { name: map.into(), entries: entries.clone() }).unwrap();
        let [one, two, three, four] = [1, 2, 3, 4].map(|key| there(&mut client, map, key));
        let (one, two, four) = (one.unwrap(), two.unwrap(), four.unwrap());
        assert_eq!((one.value, one.version, one.expiration_time_ms), (int(-1), 5, i64::MAX));
        // The member's clock counts whole milliseconds from its start.
        assert!(two.ttl_ms == far && two.expiration_time_ms.abs_diff(far) < 60_000, "{two:?}");
        assert_eq!(three, None);
        assert!(four.expiration_time_ms.abs_diff(CREATED + 2 + far) < 60_000, "{four:?}");
        let times = [one.creation_time_ms, one.last_access_time_ms, one.last_update_time_ms];
        let expected = if map == "kept" { [CREATED, CREATED + 1, CREATED + 2] } else { [-1; 3] };
        assert_eq!((times, one.hits), (expected, if map == "kept" { 7 } else { -1 }));
    }
    // As an update, too.
    let changed = SimpleEntryView { value: int(9), version: 8, ..view(1) };
    client.call(&PutAllWithMetadata { name: "plain".into(), entries: vec![changed] }).unwrap();
    let changed = there(&mut client, "plain", 1).unwrap();
    assert_eq!((changed.value, changed.version), (int(9), 8));
}
