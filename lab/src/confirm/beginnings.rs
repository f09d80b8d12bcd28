//! The part of a run that schedules keep which are drawn around an order of its steps.

use unsnarl_trace::Schedule;

/// The choices before the first of these steps that a schedule begins with: all, half, none. An order is hard to have where
/// other threads have gone their own way before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Beginning {
    All,
    Half,
    None,
}

const BEGINNINGS: [Beginning; 3] = [Beginning::All, Beginning::Half, Beginning::None];

impl Beginning {
    /// The part that it keeps of the choices before the first step.
    pub fn of(self, choices: &Schedule) -> Schedule {
        match self {
            Beginning::All => choices.clone(),
            Beginning::Half => choices.first(choices.len() / 2),
            Beginning::None => Schedule::default(),
        }
    }
}

/// Schedules that did not come to the order, by their beginnings.
#[derive(Default, Debug)]
pub(crate) struct MissedBeginnings([u32; BEGINNINGS.len()]);

impl MissedBeginnings {
    /// The beginning of the schedule that is drawn after `tried` others: the one that was missed least, and now and then the
    /// next, since others may come there in another way.
    pub fn next(&self, tried: u32) -> Beginning {
        let mut order = BEGINNINGS;
        order.sort_by_key(|one| self.0.get(*one as usize).copied());
        let second = usize::from(tried % 4 == 3);
        order.get(second).copied().unwrap_or(Beginning::All)
    }

    /// Notes that a schedule with this beginning is tried: it counts as missed until it has come to the order.
    pub fn tries(&mut self, beginning: Beginning) {
        if let Some(missed) = self.0.get_mut(beginning as usize) {
            *missed += 1;
        }
    }

    /// Notes that it has.
    pub fn came(&mut self, beginning: Beginning) {
        if let Some(missed) = self.0.get_mut(beginning as usize) {
            *missed -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_missed_gives_way() {
        let mut missed = MissedBeginnings::default();
        assert_eq!(missed.next(0), Beginning::All);
        missed.tries(Beginning::All);
        assert_eq!(missed.next(1), Beginning::Half);
        missed.came(Beginning::All);
        assert_eq!(missed.next(2), Beginning::All);
        assert_eq!(missed.next(3), Beginning::Half);
        let choices = Schedule::from_iter([1, 2, 3, 4]);
        assert_eq!(Beginning::Half.of(&choices), Schedule::from_iter([1, 2]));
        assert!(Beginning::None.of(&choices).is_empty());
    }
}
