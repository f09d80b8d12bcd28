//! Patterns for the names of cases.

/// Returns whether a pattern selects a name: one with `*` (any text) or `?` (any character) has to match the whole name,
/// another one has to occur in it.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    if !pattern.contains(['*', '?']) {
        return name.contains(pattern);
    }
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    // The characters of the pattern that the name up to here may have led to; `*` stays and is passed over.
    let pass_stars = |reached: &mut [bool]| {
        for at in 0..pattern.len() {
            if reached.get(at) == Some(&true)
                && pattern.get(at) == Some(&'*')
                && let Some(next) = reached.get_mut(at + 1)
            {
                *next = true;
            }
        }
    };
    let mut reached = vec![false; pattern.len() + 1];
    if let Some(start) = reached.first_mut() {
        *start = true;
    }
    pass_stars(&mut reached);
    for letter in name {
        let mut next = vec![false; reached.len()];
        for (at, wanted) in pattern.iter().enumerate() {
            let to = match wanted {
                '*' => at,
                '?' => at + 1,
                wanted if *wanted == letter => at + 1,
                _ => continue,
            };
            if let (Some(true), Some(place)) = (reached.get(at), next.get_mut(to)) {
                *place = true;
            }
        }
        pass_stars(&mut next);
        reached = next;
    }
    reached.last() == Some(&true)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_part_of_the_name_or_all_of_it() {
        assert!(matches("Queue", "TheQueue.Empty") && !matches("queue", "TheQueue.Empty"));
        assert!(matches("Queue.*", "Queue.Empty") && !matches("Queue.*", "TheQueue.Empty"));
        assert!(matches("*.E?pty", "Queue.Empty") && !matches("*.E?ty", "Queue.Empty"));
        assert!(matches("*", "") && matches("a*b*c", "a--b--b-c") && !matches("a*b*c", "a--c"));
        assert!(!matches(&"*a".repeat(30), &"a".repeat(29)));
    }
}
