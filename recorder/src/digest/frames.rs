//! Call in the user's code that a thread is in, for steps in libraries and headers.

use super::places::{DigestPlace, UNKNOWN};

/// A call in progress.
struct DigestFrame {
    /// Stack pointer at its entry.
    sp: u64,
    /// Place of the call.
    caller: DigestPlace,
    /// Place in the user's code at which its function was last seen.
    last: DigestPlace,
}

/// The calls that one thread is in, outermost first.
#[derive(Default)]
pub(super) struct Frames {
    frames: Vec<DigestFrame>,
    /// `true` while the return address of the call that was just entered is still to come.
    is_entering: bool,
}

/// Bound for the depth of calls; deeper ones are not noted: no real program has them.
const MOST: usize = 1 << 20;

impl Frames {
    /// Enters a function.
    pub fn enter(&mut self, sp: u64) {
        // Frames below this one were left without notice, as by `longjmp`.
        while self.frames.last().is_some_and(|frame| frame.sp <= sp) {
            self.frames.pop();
        }
        if self.frames.len() < MOST {
            self.is_entering = true;
            self.frames.push(DigestFrame {
                sp,
                caller: DigestPlace::default(),
                last: DigestPlace::default(),
            });
        }
    }

    /// Returns whether the next extra record has the return address of the innermost call.
    pub fn takes_caller(&mut self) -> bool {
        std::mem::take(&mut self.is_entering)
    }

    /// Notes the place of the innermost call.
    pub fn called_from(&mut self, caller: DigestPlace) {
        if let Some(top) = self.frames.last_mut() {
            top.caller = caller;
        }
    }

    /// Leaves the innermost function.
    pub fn leave(&mut self) {
        if let Some(left) = self.frames.pop().filter(|left| left.caller.is_user) {
            self.seen_at(left.caller);
        }
    }

    fn seen_at(&mut self, place: DigestPlace) {
        if let Some(top) = self.frames.last_mut() {
            top.last = place;
        }
    }

    /// The place in the user's code that a step at `place` belongs to, as far as there is one.
    pub fn in_user_code(&mut self, place: DigestPlace) -> u32 {
        if place.is_user {
            self.seen_at(place);
            return place.id;
        }
        let around = self.frames.iter().rev();
        let mut places = around.flat_map(|frame| [frame.last, frame.caller]);
        let found = places.find(|around| around.is_user && around.id != UNKNOWN);
        found.map_or(place.id, |around| around.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(id: u32, is_user: bool) -> DigestPlace {
        DigestPlace {
            id,
            is_user,
            hash: 0,
        }
    }

    #[test]
    fn steps_of_libraries_belong_to_the_call_that_led_there() {
        let mut frames = Frames::default();
        assert_eq!(frames.in_user_code(place(7, false)), 7);
        frames.enter(1000);
        assert!(frames.takes_caller() && !frames.takes_caller());
        assert_eq!(frames.in_user_code(place(1, true)), 1);
        assert_eq!(frames.in_user_code(place(7, false)), 1);
        frames.enter(900);
        frames.called_from(place(2, true));
        assert_eq!(frames.in_user_code(place(7, false)), 2);
        frames.enter(800);
        frames.called_from(place(8, false));
        assert_eq!(frames.in_user_code(place(7, false)), 2);
        // Back by `longjmp`, and on with another call.
        frames.enter(900);
        frames.called_from(place(3, true));
        assert_eq!(frames.in_user_code(place(7, false)), 3);
        frames.leave();
        assert_eq!(frames.in_user_code(place(7, false)), 3);
    }
}
