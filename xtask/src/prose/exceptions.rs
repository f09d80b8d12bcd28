//! Files that may look for words in texts, with the reason. A file that does not need its exception any more is reported.

/// Texts that others make: reasons with their files.
pub(super) const OTHERS: &[(&str, &[&str])] = &[
    (
        "The script language of traces, which tests and people write.",
        &[
            "trace/src/script/build.rs",
            "trace/src/script/event.rs",
            "trace/src/script/words.rs",
        ],
    ),
    (
        "Names of locations in run files, taken apart once for all.",
        &["trace/src/location.rs"],
    ),
    ("Paths of system headers.", &["trace/src/meta.rs"]),
    (
        "Listings and options of test frameworks and of CTest.",
        &[
            "recorder/src/suite/ctest.rs",
            "recorder/src/suite/framework/boost_test.rs",
            "recorder/src/suite/framework/criterion.rs",
            "recorder/src/suite/framework/doctest.rs",
            "recorder/src/suite/framework/google_test.rs",
        ],
    ),
    (
        "Names of functions in program models: the compiler's and the C and C++ libraries'.",
        &[
            "symbolic/src/walk/branch.rs",
            "symbolic/src/walk/callbacks.rs",
            "symbolic/src/walk/calls.rs",
            "symbolic/src/walk/copies.rs",
            "symbolic/src/walk/exceptions.rs",
            "symbolic/src/walk/heap.rs",
            "symbolic/src/walk/intrinsics.rs",
            "symbolic/src/walk/regain.rs",
            "symbolic/src/walk/synchronization.rs",
            "symbolic/src/walk/text.rs",
        ],
    ),
    (
        "Names of symbols in debug information and object files, by compilers and linkers.",
        &[
            "core/src/explain/draft.rs",
            "core/src/explain/slice.rs",
            "recorder/src/assemble/dwarf.rs",
            "recorder/src/assemble/dwarf_types.rs",
            "recorder/src/assemble/failure.rs",
            "recorder/src/assemble/image.rs",
            "recorder/src/assemble/imports.rs",
            "recorder/src/assemble/lift/abis.rs",
            "recorder/src/assemble/lift/debug_types.rs",
            "recorder/src/assemble/lift/file.rs",
            "recorder/src/assemble/lift/mod.rs",
            "recorder/src/assemble/names.rs",
            "recorder/src/assemble/unseen.rs",
            "recorder/src/modelled/calls.rs",
            "recorder/src/modelled/glib.rs",
            "recorder/src/modelled/table.rs",
            "recorder/src/program/debug_types.rs",
        ],
    ),
    (
        "Assembly and LLVM's text, by compilers.",
        &[
            "recorder/src/program/globals.rs",
            "recorder/src/program/lines.rs",
            "recorder/src/program/metadata.rs",
            "recorder/src/program/mod.rs",
            "recorder/src/program/numbers.rs",
            "recorder/src/wrapper/assembler.rs",
            "recorder/src/wrapper/assembly/exceptions.rs",
            "recorder/src/wrapper/assembly/liveness.rs",
            "recorder/src/wrapper/assembly/notes.rs",
            "recorder/src/wrapper/assembly/plan.rs",
            "recorder/src/wrapper/assembly/registers.rs",
            "recorder/src/wrapper/assembly/text.rs",
            "recorder/src/wrapper/model/points.rs",
        ],
    ),
    (
        "Command lines of compilers, and what they print.",
        &[
            "lab/src/compiles.rs",
            "recorder/src/wrapper/arguments.rs",
            "recorder/src/wrapper/compiler.rs",
            "recorder/src/wrapper/flags/kept.rs",
            "recorder/src/wrapper/flags/refusal.rs",
            "recorder/src/wrapper/model/plan.rs",
            "recorder/src/wrapper/rebuild.rs",
        ],
    ),
    (
        "The kernel's files and other programs' output.",
        &[
            "recorder/src/launch/calls.rs",
            "recorder/src/launch/check.rs",
            "recorder/src/record/finish.rs",
            "recorder/src/replay/registers.rs",
        ],
    ),
    (
        "Names of files.",
        &[
            "core/src/told.rs",
            "recorder/src/record/marker.rs",
            "recorder/src/runtime_library.rs",
            "server/src/confirmer.rs",
        ],
    ),
    (
        "Messages of the solver.",
        &["symbolic/src/schedules/solver.rs"],
    ),
    (
        "The user's source.",
        &[
            "cli/src/predict/engine.rs",
            "symbolic/src/dsp/render/mod.rs",
            "core/src/fixes/asserted.rs",
            "core/src/fixes/lock_calls.rs",
            "core/src/fixes/mutexes.rs",
            "core/src/fixes/sections.rs",
            "core/src/fixes/text/conditions.rs",
            "core/src/fixes/text/declare.rs",
            "core/src/fixes/text/declared.rs",
            "core/src/fixes/text/expression.rs",
            "core/src/fixes/text/flow.rs",
            "core/src/fixes/text/guard.rs",
            "core/src/fixes/text/member.rs",
            "core/src/fixes/text/move_statement.rs",
            "core/src/fixes/text/one_step.rs",
            "core/src/fixes/text/precondition.rs",
            "core/src/fixes/text/unjoined.rs",
            "recorder/src/assemble/sources.rs",
        ],
    ),
    (
        "The report that is printed is coloured line by line.",
        &["cli/src/explain.rs"],
    ),
];

/// Texts of our own that are still read back. Nothing joins this list; it goes when they are types.
pub(super) const OURS: &[(&str, &[&str])] = &[
    (
        "Names of locations, beyond what `Location` takes apart.",
        &[
            "core/src/facts.rs",
            "symbolic/src/walk/paths.rs",
            "recorder/src/assemble/moved.rs",
        ],
    ),
    (
        "Steps, marks and values of explanations are text until they are types.",
        &[
            "cli/src/pin/trial.rs",
            "core/src/beside.rs",
            "core/src/explain/sequential.rs",
            "core/src/fixes/deadlock.rs",
            "core/src/fixes/publish.rs",
            "core/src/fixes/wait.rs",
            "symbolic/src/invariants/told.rs",
            "symbolic/src/invariants/words.rs",
            "core/src/render/text.rs",
        ],
    ),
    (
        "The advice behind a reason, after `next: `, is part of the text of errors.",
        &[
            "cli/src/doctor.rs",
            "lab/src/confirm/case.rs",
            "lab/src/confirm/mod.rs",
        ],
    ),
    (
        "Marks of our own among the client's.",
        &["server/src/actions.rs"],
    ),
];
