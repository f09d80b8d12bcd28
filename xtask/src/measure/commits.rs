//! Measurements of commit subjects.

use super::figures::MeasuredShare;

/// The longest subject, in characters, that tools show without cutting it off.
const LONGEST: usize = 72;

/// Shares of commit subjects that break the rules for them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SubjectShares {
    /// Subjects that are longer than [`LONGEST`].
    pub long: MeasuredShare,
    /// Subjects that list several changes, joined by a semicolon.
    pub lists: MeasuredShare,
}

/// Measures subjects, one a line.
pub fn measure(subjects: &str) -> SubjectShares {
    let mut measured = SubjectShares::default();
    for subject in subjects.lines() {
        measured.long.add(subject.chars().count() > LONGEST);
        measured.lists.add(subject.contains(';'));
    }
    measured
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_subjects_and_lists_are_counted() {
        let longest = "ä".repeat(LONGEST);
        let too_long = "x".repeat(LONGEST + 1);
        let subjects = format!("Add a thing\n{longest}\n{too_long}\nAdd this; remove that\n");
        let measured = measure(&subjects);
        assert_eq!(measured.long, MeasuredShare { with: 1, of: 4 });
        assert_eq!(measured.lists, MeasuredShare { with: 1, of: 4 });
        assert_eq!(measure(""), SubjectShares::default());
    }
}
