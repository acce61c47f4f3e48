//! "Did you mean": the known name closest to an unknown one.

/// The candidate closest to `name`, if it is close enough to be a plausible typing error: at most a
/// third of the longer word's letters differ. Of equally close candidates, the first is returned.
pub fn nearest<'a, I>(name: &str, candidates: I) -> Option<&'a str>
where
    I: IntoIterator<Item = &'a str>,
{
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        if candidate == name {
            continue;
        }
        let longer = name.chars().count().max(candidate.chars().count());
        let allowed = (longer / 3).max(1).min(longer.saturating_sub(1));
        let limit = best.map_or(allowed, |(d, _)| allowed.min(d.saturating_sub(1)));
        if let Some(distance) = edit_distance_within(name, candidate, limit)
            && best.is_none_or(|(d, _)| distance < d)
        {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Like [`nearest`], as a sentence for the hint of a diagnostic.
pub fn did_you_mean<'a, I>(name: &str, candidates: I) -> Option<String>
where
    I: IntoIterator<Item = &'a str>,
{
    nearest(name, candidates).map(|found| format!("did you mean `{found}`?"))
}

/// Names longer than this are not compared, because the table would cost more than the hint is
/// worth.
const LONGEST: usize = 64;

/// Damerau's distance: the least number of letters inserted, deleted, replaced, or swapped with
/// their neighbour. `None` beyond `limit`.
fn edit_distance_within(a: &str, b: &str, limit: usize) -> Option<usize> {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    if a.len().abs_diff(b.len()) > limit || a.len() > LONGEST || b.len() > LONGEST {
        return None;
    }
    let mut before_previous = vec![0; b.len() + 1];
    let mut previous: Vec<usize> = (0..=b.len()).collect();
    let mut current = vec![0; b.len() + 1];
    for i in 1..=a.len() {
        current[0] = i;
        for j in 1..=b.len() {
            let replace = previous[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut cost = replace.min(previous[j] + 1).min(current[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                cost = cost.min(before_previous[j - 2] + 1);
            }
            current[j] = cost;
        }
        std::mem::swap(&mut before_previous, &mut previous);
        std::mem::swap(&mut previous, &mut current);
    }
    Some(previous[b.len()]).filter(|&distance| distance <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let known = ["count", "turn", "flag", "Count2", "x"];
        assert_eq!(nearest("conut", known), Some("count"));
        assert_eq!(nearest("trun", known), Some("turn"));
        assert_eq!(nearest("flags", known), Some("flag"));
        assert_eq!(nearest("elephant", known), None);
        assert_eq!(nearest("y", known), None, "one letter is no evidence");
        assert_eq!(did_you_mean("fleg", known).as_deref(), Some("did you mean `flag`?"));
    }
}
