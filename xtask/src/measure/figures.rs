//! Shares and percentiles.

/// A number of things that have a property, of a number of things.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeasuredShare {
    /// Those with the property.
    pub with: usize,
    /// All of them.
    pub of: usize,
}

impl MeasuredShare {
    /// Counts one more thing.
    pub fn add(&mut self, has_property: bool) {
        self.with += usize::from(has_property);
        self.of += 1;
    }

    /// Adds the counts of another share.
    pub fn join(&mut self, other: MeasuredShare) {
        self.with += other.with;
        self.of += other.of;
    }

    /// The share as text, in percent with one decimal place and as counts.
    pub fn text(self) -> String {
        if self.of == 0 {
            return "none".to_string();
        }
        let per_mille = (self.with * 1000 + self.of / 2) / self.of;
        format!(
            "{}.{} % ({} of {})",
            per_mille / 10,
            per_mille % 10,
            self.with,
            self.of
        )
    }
}

/// The percentile of sorted numbers by nearest rank: the smallest that at least `percent` percent of them do not exceed.
pub fn percentile(sorted: &[usize], percent: usize) -> Option<usize> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let ten = [1, 2, 3, 4, 5, 6, 7, 8, 9, 100];
        assert_eq!(percentile(&ten, 50), Some(5));
        assert_eq!(percentile(&ten, 90), Some(9));
        assert_eq!(percentile(&ten, 99), Some(100));
        assert_eq!(percentile(&[7], 50), Some(7));
        assert_eq!(percentile(&[3, 8, 9], 50), Some(8));
        assert_eq!(percentile(&[], 50), None);
    }

    #[test]
    fn shares_are_rounded() {
        let share = |with, of| MeasuredShare { with, of }.text();
        assert_eq!(share(1, 3), "33.3 % (1 of 3)");
        assert_eq!(share(2, 3), "66.7 % (2 of 3)");
        assert_eq!(share(5, 5), "100.0 % (5 of 5)");
        assert_eq!(share(0, 5), "0.0 % (0 of 5)");
        assert_eq!(share(0, 0), "none");
    }
}
