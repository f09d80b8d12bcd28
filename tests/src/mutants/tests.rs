#![allow(
    clippy::single_range_in_vec_init,
    reason = "regions are lists of ranges of lines"
)]
use super::*;

const QUEUE: &str = "\
static struct { pthread_mutex_t lock; pthread_cond_t changed; int used; } queue;
static int total;

int take(void)
{
    pthread_mutex_lock(&queue.lock);
    while (queue.used == 0)
        pthread_cond_wait(&queue.changed, &queue.lock);
    queue.used--;
    pthread_mutex_unlock(&queue.lock);
    return 1;
}

void add(int n)
{
    pthread_mutex_lock(&queue.lock);
    if (queue.used > 8) {
        pthread_mutex_unlock(&queue.lock);
        return;
    }
    queue.used += n;
    total += n;
    pthread_cond_signal(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
}
";

fn mutants(text: &str, extension: &str) -> Vec<Mutant> {
    let base = Base {
        name: "b".to_owned(),
        path: PathBuf::from(format!("b.{extension}")),
        text: text.to_owned(),
    };
    base.mutants().unwrap()
}

/// The lines that a mutant has in another way, and its region.
fn check(text: &str, extension: &str, id: &str, new: &[&str], region: &[Range<u32>]) {
    let mutants = mutants(text, extension);
    let Some(mutant) = mutants.iter().find(|one| one.id == id) else {
        let ids: Vec<&str> = mutants.iter().map(|one| one.id.as_str()).collect();
        panic!("no {id} among {ids:?}");
    };
    let old: Vec<&str> = text.lines().collect();
    let is_new = |line: &&str| !old.contains(line) && !line.is_empty();
    let lines: Vec<&str> = mutant.text.lines().filter(is_new).map(str::trim).collect();
    assert_eq!(lines, new, "{}", mutant.text);
    for range in region {
        assert!(
            mutant.region.contains(range),
            "{:?}\n{}",
            mutant.region,
            mutant.text
        );
    }
}

#[test]
fn a_lock_is_dropped_with_all_that_gives_it_back() {
    let all = mutants(QUEUE, "c");
    let dropped = all.iter().find(|one| one.operator == "drop-lock").unwrap();
    assert_eq!(dropped.text.matches("mutex_lock").count(), 1);
    assert_eq!(dropped.text.matches("mutex_unlock").count(), 1);
    assert!(
        dropped.concerns(16) && dropped.concerns(20),
        "{:?}",
        dropped.region
    );
    assert!(!dropped.concerns(9), "{:?}", dropped.region);
}

#[test]
fn waits_and_signals() {
    check(
        QUEUE,
        "c",
        "b/if-wait/1",
        &["if (queue.used == 0)"],
        &[7..9],
    );
    check(QUEUE, "c", "b/drop-signal/1", &[], &[7..9, 21..22]);
    check(QUEUE, "c", "b/drop-wait/1", &[], &[7..8]);
}

#[test]
fn a_check_is_made_before_the_lock() {
    let new = ["int seen = queue.used > 8;", "if (seen) {"];
    check(QUEUE, "c", "b/check-outside/1", &new, &[16..17, 18..22]);
}

#[test]
fn guards_are_let_go_by_hand() {
    let text = "\
void add(int n)
{
    std::lock_guard<std::mutex> guard(lock_);
    sum_ += n;
    count_++;
}
";
    let new = [
        "std::unique_lock<std::mutex> guard(lock_);",
        "guard.unlock(); guard.lock();",
    ];
    check(
        text,
        "cpp",
        "b/split-section/1",
        &new,
        &[3..4, 4..5, 5..6, 6..7],
    );
    let other = [
        "static std::mutex lock_aux;",
        "std::lock_guard<std::mutex> guard(lock_aux);",
    ];
    check(text, "cpp", "b/other-lock/1", &other, &[5..6]);
}

#[test]
fn a_section_that_is_left_with_the_lock_is_none() {
    let text = "\
void grow(void)
{
    for (;;) {
        pthread_mutex_lock(&lock);
        if (left > 0)
            break;
        asked++;
        pthread_mutex_unlock(&lock);
    }
    left--;
    pthread_mutex_unlock(&lock);
}
";
    let all = mutants(text, "c");
    assert!(all.is_empty(), "{all:?}");
}

#[test]
fn wrappers_of_locks_are_locks() {
    let text = "\
static void enter(struct table *t) { pthread_mutex_lock(&t->lock); }
static void leave(struct table *t) { pthread_mutex_unlock(&t->lock); }
int size(struct table *t)
{
    enter(t);
    int size = t->used;
    leave(t);
    return size;
}
";
    let all = mutants(text, "c");
    let dropped = all.iter().find(|one| one.operator == "drop-lock").unwrap();
    assert!(!dropped.text.contains("enter(t);") && !dropped.text.contains("leave(t);"));
    assert!(dropped.text.contains("pthread_mutex_lock"));
}

#[test]
fn an_atomic_step_becomes_two() {
    let text = "\
void release(struct object *object)
{
    if (atomic_fetch_sub(&object->refs, 1) == 1)
        free(object);
    atomic_fetch_add(&released, 1);
}
";
    let first = [
        "const __auto_type seen = atomic_load(&object->refs); atomic_store(&object->refs, seen - 1);",
        "if (seen == 1)",
    ];
    check(text, "c", "b/split-atomic/1", &first, &[3..4]);
    let second = ["atomic_store(&released, atomic_load(&released) + 1);"];
    check(text, "c", "b/split-atomic/2", &second, &[5..6]);
}

#[test]
fn two_locks_in_the_other_order() {
    let text = "\
void both(void)
{
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
    n++;
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
}
";
    let all = mutants(text, "c");
    let reversed = all
        .iter()
        .find(|one| one.operator == "reverse-locks")
        .unwrap();
    let order: Vec<&str> = reversed
        .text
        .lines()
        .skip(2)
        .take(2)
        .map(str::trim)
        .collect();
    assert_eq!(
        order,
        ["pthread_mutex_lock(&b);", "pthread_mutex_lock(&a);"]
    );
    assert_eq!(reversed.classes, [BugKind::Deadlock]);
}

#[test]
fn starts_and_ends_of_threads() {
    let text = "\
int main(void)
{
    struct job *job = malloc(sizeof *job);
    job->size = 3;
    job->left = 3;
    pthread_create(&thread, NULL, work, job);
    pthread_join(thread, NULL);
    free(job);
    return total;
}
";
    let all = mutants(text, "c");
    let line_of = |operator: &str, words: &str| {
        let mut of = all.iter().filter(|one| one.operator == operator);
        of.find_map(|one| one.text.lines().position(|line| line.contains(words)))
    };
    assert_eq!(line_of("swap-publication", "pthread_create"), Some(4));
    assert_eq!(line_of("publish-early", "pthread_create"), Some(3));
    assert_eq!(line_of("delay-init", "job->size"), Some(5));
    assert_eq!(line_of("drop-join", "free"), Some(6));
    assert_eq!(line_of("free-early", "free"), Some(6));
}

#[test]
fn the_same_program_has_the_same_mutants() {
    let base = Base::open("mail_queue").unwrap();
    assert_eq!(base.mutants().unwrap(), base.mutants().unwrap());
}

#[test]
fn every_program_has_mutants_with_a_region_each() {
    for name in Base::names().unwrap() {
        let base = Base::open(&name).unwrap();
        let mutants = base.mutants().unwrap();
        assert!(mutants.len() >= 10, "{name}: {}", mutants.len());
        for mutant in &mutants {
            assert!(!mutant.region.is_empty(), "{}", mutant.id);
            assert_ne!(mutant.text, base.text, "{}", mutant.id);
        }
    }
}

#[test]
fn halves_are_halves() {
    let ids = (0..1000).map(|number| format!("b/drop-lock/{number}"));
    let held_back = ids.filter(|id| Half::of(id) == Half::HeldBack).count();
    assert!((450..550).contains(&held_back), "{held_back}");
}
