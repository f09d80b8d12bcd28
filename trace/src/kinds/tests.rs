use super::*;

#[test]
fn numbers_rise_from_one_and_names_are_told_apart() {
    for (number, kind) in (1..).zip(EventKind::ALL) {
        assert_eq!(kind as u8, number, "{}", kind.name());
        assert_eq!(EventKind::from_u8(number), Some(kind));
        assert_eq!(EventKind::from_name(kind.name()), Some(kind));
    }
    for (number, wait) in (0..).zip(WaitsFor::ALL) {
        assert_eq!(wait as u32, number, "{}", wait.name());
    }
    for (at, wait) in WaitsFor::ALL.iter().enumerate() {
        let first = WaitsFor::ALL
            .iter()
            .position(|other| other.name() == wait.name());
        assert_eq!(first, Some(at), "{}", wait.name());
    }
}

#[test]
fn each_event_comes_from_a_record() {
    for kind in EventKind::ALL {
        assert!(kind.records().next().is_some(), "{}", kind.name());
    }
    for &record in RecordKind::ALL {
        assert_eq!(RecordKind::from_u8(record as u8), Some(record));
    }
}

#[test]
fn roles_fit_their_objects() {
    for kind in EventKind::ALL {
        let (role, class) = (kind.role(), kind.class());
        let name = kind.name();
        assert_eq!(role == EventRole::Access, kind.is_access(), "{name}");
        assert_eq!(role.is_locking(), class == ObjectClass::Lock, "{name}");
        // What synchronizes on an object is about one, and an object is there to be synchronized on.
        let used = role.object_use().is_some() || role == EventRole::Contend;
        assert_eq!(used, class.is_synchronization(), "{name}");
        assert!(!(role.publishes() && role.obtains()), "{name}");
    }
}

/// Each primitive has events by which a thread gets what another one published.
#[test]
fn what_is_obtained_was_published() {
    let of = |class: ObjectClass, is: fn(EventRole) -> bool| {
        let mut kinds = EventKind::ALL.into_iter();
        kinds.any(|kind| kind.class() == class && is(kind.role()))
    };
    for class in EventKind::ALL.map(EventKind::class) {
        if class.is_synchronization() {
            assert!(of(class, EventRole::publishes), "{class:?}");
            assert!(of(class, EventRole::obtains), "{class:?}");
        }
    }
}
