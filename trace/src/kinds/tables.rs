//! The macros that make enumerations of the rows.

/// Declares [`RecordKind`](super::RecordKind): `Name = number => Event;`, without an event for records that become
/// none of their own.
macro_rules! record_kinds {
    ($($(#[$doc:meta])* $kind:ident = $number:literal $(=> $event:ident)?;)*) => {
        /// The kind of a [`Record`](crate::raw::Record).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum RecordKind {
            $($(#[$doc])* $kind = $number,)*
        }

        impl RecordKind {
            /// All kinds, in the order of their numbers.
            pub const ALL: &[RecordKind] = &[$(RecordKind::$kind,)*];

            /// All kinds, by their numbers: each step of each run is looked up here.
            #[expect(
                clippy::indexing_slicing,
                reason = "the compiler works it out, and does not compile what would panic"
            )]
            const BY_NUMBER: [Option<RecordKind>; 256] = {
                let mut table = [None; 256];
                let mut at = 0;
                while at < Self::ALL.len() {
                    table[Self::ALL[at] as usize] = Some(Self::ALL[at]);
                    at += 1;
                }
                table
            };

            /// The variant with this number; `None` for 0 and for numbers of other versions.
            #[inline]
            pub fn from_u8(n: u8) -> Option<RecordKind> {
                Self::BY_NUMBER.get(usize::from(n)).copied().flatten()
            }

            /// The kind of the event that such a record becomes; `None` if it has no number of its own in the run.
            #[inline]
            pub const fn event(self) -> Option<EventKind> {
                match self {
                    $(RecordKind::$kind => record_kinds!(@event $($event)?),)*
                }
            }
        }
    };
    (@event) => { None };
    (@event $event:ident) => { Some(EventKind::$event) };
}

/// Declares [`EventKind`](super::EventKind): `Name = number, "name in files", "verb", Class, EventRole;`.
macro_rules! event_kinds {
    ($($(#[$doc:meta])* $kind:ident = $number:literal, $name:literal, $verb:literal, $class:ident, $role:expr;)*) => {
        /// The kind of an event. The numbers are part of the run file's format.
        ///
        /// `location` is the accessed memory or the synchronization object unless said otherwise.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum EventKind {
            $($(#[$doc])* $kind = $number,)*
        }

        impl EventKind {
            /// All kinds, in the order of their numbers, from 1.
            pub const ALL: [EventKind; [$($number),*].len()] = [$(EventKind::$kind,)*];

            /// The name in the `kind` column.
            pub const fn name(self) -> &'static str {
                match self { $(EventKind::$kind => $name,)* }
            }

            /// The verb for what the thread does, of which the object follows: `takes a unit of`.
            pub const fn verb(self) -> &'static str {
                match self { $(EventKind::$kind => $verb,)* }
            }

            /// The class of the object that the event is about.
            pub const fn class(self) -> ObjectClass {
                match self { $(EventKind::$kind => ObjectClass::$class,)* }
            }

            /// The meaning of the event for other threads.
            #[inline]
            pub const fn role(self) -> EventRole {
                match self { $(EventKind::$kind => $role,)* }
            }
        }
    };
}

/// Declares [`ObjectClass`](super::ObjectClass): `Name: bytes ["C type"] ["type of C++ in std"];`.
macro_rules! object_classes {
    ($($(#[$doc:meta])* $class:ident: $bytes:literal [$($c:literal),*] [$($std:literal),*];)*) => {
        /// The class of an object that events are about.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum ObjectClass {
            $($(#[$doc])* $class,)*
        }

        impl ObjectClass {
            /// Size in bytes of an object in memory without a type.
            pub const fn bytes(self) -> u64 {
                match self { $(ObjectClass::$class => $bytes,)* }
            }

            /// Returns whether C has a type of this name for such objects, or for their attributes.
            pub fn is_c_type(name: &str) -> bool {
                [$($($c,)*)*].contains(&name)
            }

            /// Returns whether C++ has a type of this name for such objects in `std`; the name has no parameters.
            pub fn is_std_type(name: &str) -> bool {
                [$($($std,)*)*].contains(&name)
            }
        }
    };
}

/// Declares [`WaitsFor`](super::WaitsFor): `Name = number, "word in scripts", "words in texts", Class;`.
macro_rules! waits {
    ($($(#[$doc:meta])* $wait:ident = $number:literal, $name:literal, $words:literal, $class:ident;)*) => {
        /// The object that a thread waits for when the run ends, or its time is over.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub enum WaitsFor {
            $($(#[$doc])* $wait = $number,)*
        }

        impl WaitsFor {
            /// All variants, in the order of their numbers, from 0.
            pub const ALL: [WaitsFor; [$($number),*].len()] = [$(WaitsFor::$wait,)*];

            /// The variant with this number.
            pub fn from_u32(n: u32) -> Option<WaitsFor> {
                Self::ALL.get(n as usize).copied()
            }

            /// The name in scripts.
            pub const fn name(self) -> &'static str {
                match self { $(WaitsFor::$wait => $name,)* }
            }

            /// The words for what the thread waits for: `the others at a barrier`.
            pub const fn words(self) -> &'static str {
                match self { $(WaitsFor::$wait => $words,)* }
            }

            /// The class of the object.
            pub const fn class(self) -> ObjectClass {
                match self { $(WaitsFor::$wait => ObjectClass::$class,)* }
            }
        }
    };
}
