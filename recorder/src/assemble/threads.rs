//! Threads: names by place in the fork tree, start routines, where they were created.

use super::{raw_log::LogThread, walk::LogWalk};
use unsnarl_trace::{EventKind, SiteId, ThreadId, ThreadRow};

/// `main`, `main.1`, `main.1.2`: the same thread has the same name in every run.
pub(crate) fn names(threads: &[LogThread]) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(threads.len());
    for (i, thread) in threads.iter().enumerate() {
        let parent = (thread.parent as usize) < i;
        let parent = names.get(thread.parent as usize).filter(|_| parent);
        names.push(match parent {
            Some(parent) => format!("{parent}.{}", thread.nth),
            None if i == 0 => "main".to_owned(),
            None => format!("thread.{i}"),
        });
    }
    names
}

/// The thread table.
pub(super) fn rows(
    threads: &[LogThread],
    names: &[String],
    walk: &mut LogWalk<'_>,
) -> Vec<ThreadRow> {
    let mut created_at = vec![SiteId(0); threads.len()];
    for (site, child) in walk.drafts.of_kind(EventKind::Fork) {
        let child = child.and_then(|child| usize::try_from(child).ok());
        if let Some(place) = child.and_then(|child| created_at.get_mut(child)) {
            *place = site;
        }
    }
    let table = threads.iter().zip(names).zip(created_at).enumerate();
    table
        .map(|(i, ((thread, name), created_at))| ThreadRow {
            name: name.clone(),
            start: start(i, thread, walk),
            parent: (i > 0).then_some(ThreadId(thread.parent as u16)),
            created_at,
        })
        .collect()
}

/// The start routine, or what stands for it where a library starts the thread (`std::thread`): the
/// first function of the user's that it entered.
fn start(index: usize, thread: &LogThread, walk: &mut LogWalk<'_>) -> String {
    if index == 0 {
        return "main".to_owned();
    }
    let entry = walk
        .entries
        .id(&mut walk.memory.modules, thread.start_pc.wrapping_add(1));
    let routine = walk.entries.get(entry).filter(|entry| entry.name != "?");
    match (routine, walk.first_function(index)) {
        (Some(routine), _) if routine.is_user => routine.name.clone(),
        (_, Some(first)) => first.to_owned(),
        (Some(routine), None) => routine.name.clone(),
        (None, None) => String::new(),
    }
}
