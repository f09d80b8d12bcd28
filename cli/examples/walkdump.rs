//! scratch
use unsnarl_core::{
    Budget,
    symbolic::{Action, Bug, walk, walk_paths},
};
fn main() {
    let steps = std::env::args().any(|a| a == "--steps");
    for path in std::env::args().skip(1).filter(|a| !a.starts_with("--")) {
        let path = std::path::Path::new(&path);
        let run = unsnarl_trace::read_run(path).unwrap();
        if std::env::args().any(|a| a == "--events") {
            for (id, e) in run.events.iter() {
                let w = run.meta.site(e.site);
                println!(
                    "{} {} {} {} sz{} {:?}{} {}:{} pt{} {:x}",
                    id.0,
                    run.meta.thread(e.thread).name,
                    e.kind.name(),
                    run.location(e.location),
                    e.size,
                    e.value,
                    match e.value {
                        Some(unsnarl_trace::Value::Address(l)) => format!("={}", run.location(l)),
                        _ => String::new(),
                    },
                    w.file.rsplit('/').next().unwrap(),
                    w.line,
                    e.point.0,
                    e.flags
                );
            }
            for t in &run.meta.threads {
                println!("{t:?}");
            }
            continue;
        }
        let model =
            unsnarl_trace::program::load(path.parent().unwrap(), &run.meta.build_id).unwrap();
        let at = std::time::Instant::now();
        let walked = match run.meta.mode {
            unsnarl_trace::Mode::Path => {
                walk_paths(&run, &model, &Budget::unlimited())
                    .unwrap()
                    .walked
            }
            _ => walk(&run, &model, &Budget::unlimited()),
        };
        let t = &walked.trace;
        println!(
            "{}: followed {:?} of {} events in {:?}",
            path.file_name().unwrap().to_string_lossy(),
            walked.followed,
            run.events.len(),
            at.elapsed()
        );
        for g in &t.gaps {
            println!("  gap: {g}");
        }
        for c in &t.concretized {
            let s = run.meta.site(c.site);
            println!(
                "  fixed: {} at {}:{}",
                c.what,
                s.file.rsplit('/').next().unwrap(),
                s.line
            );
        }
        match &t.bug {
            Bug::Condition { condition, .. } => println!("  bug: {}", t.show(*condition)),
            b => println!("  bug: {b:?}"),
        }
        if steps {
            for id in &t.order {
                let s = t.step(*id).unwrap();
                let w = run.meta.site(s.site);
                let text = match s.action {
                    Action::Read { cell, symbol } => format!(
                        "R {} -> {:?}",
                        t.cell(cell).unwrap().name,
                        t.symbol(symbol).unwrap().recorded
                    ),
                    Action::Write { cell, value } => {
                        format!("W {} = {}", t.cell(cell).unwrap().name, t.show(value))
                    }
                    Action::Assume(e) => format!("? {}", t.show(e)),
                    Action::Sync {
                        kind,
                        object,
                        value,
                    } => format!("{} {} {}", kind.name(), run.location(object), value),
                    Action::Release { object, .. } => format!("release {}", run.location(object)),
                };
                println!(
                    "  {} #{} {:?} {}:{}  {}",
                    run.meta.thread(id.thread).name,
                    id.index,
                    s.event.map(|e| e.0),
                    w.file.rsplit('/').next().unwrap(),
                    w.line,
                    text
                );
            }
        }
        match unsnarl_core::dsp::check(t, &t.order) {
            Ok(f) => {
                println!("  check: fails {:?} cut {}", f.fails, f.cut.len());
                for (i, (s, v)) in t.symbols.iter().zip(&f.symbols).enumerate() {
                    if let (Some(v), Some(r)) = (v, s.recorded)
                        && *v != r
                    {
                        println!("    symbol {i} {:?}: {v} not {r}", s);
                    }
                }
            }
            Err(e) => println!("  check: {e:?}"),
        }
    }
}
