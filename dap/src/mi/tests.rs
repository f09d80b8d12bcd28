use super::*;
use proptest::prelude::*;

fn results(pairs: &[(&str, MiValue)]) -> Results {
    let own = pairs.iter().cloned();
    Results(own.map(|(name, value)| (name.to_owned(), value)).collect())
}

fn text(of: &str) -> MiValue {
    MiValue::Text(of.to_owned())
}

#[test]
fn a_stop_at_a_breakpoint() {
    let line = r#"*stopped,reason="breakpoint-hit",frame={func="f",args=[{name="n",value="50"}],line="44"},stopped-threads="all""#;
    let argument = MiValue::Tuple(results(&[("name", text("n")), ("value", text("50"))]));
    let frame = results(&[
        ("func", text("f")),
        ("args", MiValue::List(vec![argument])),
        ("line", text("44")),
    ]);
    let expected = MiRecord::Execution {
        class: "stopped".to_owned(),
        results: results(&[
            ("reason", text("breakpoint-hit")),
            ("frame", MiValue::Tuple(frame)),
            ("stopped-threads", text("all")),
        ]),
    };
    assert_eq!(parse(line), expected);
}

#[test]
fn a_list_of_named_values() {
    let parsed = parse(r#"4^done,stack=[frame={level="0"},frame={level="1"}]"#);
    let MiRecord::Answer { token, results, .. } = parsed else {
        panic!("no answer: {parsed:?}")
    };
    let levels: Vec<&str> = results
        .tuples("stack")
        .map(|frame| frame.text("level"))
        .collect();
    assert_eq!((token, levels), (Some(4), vec!["0", "1"]));
}

#[test]
fn escapes_and_bytes_beyond_ascii() {
    let line = r#"~"a \"b\"\t\303\274\n""#;
    assert_eq!(parse(line), MiRecord::Console("a \"b\"\tü\n".to_owned()));
}

#[test]
fn prompts_and_foreign_lines() {
    assert_eq!(parse("(gdb) "), MiRecord::Prompt);
    for line in [
        "hello",
        "12",
        "^done,",
        "^done,a",
        r#"~"open"#,
        r#"^done,a="b"c"#,
    ] {
        assert_eq!(parse(line), MiRecord::Foreign(line.to_owned()));
    }
    let deep = format!("^done,a={}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(matches!(parse(&deep), MiRecord::Foreign(_)));
}

fn written(value: &MiValue) -> String {
    let joined = |parts: Vec<String>| parts.join(",");
    match value {
        MiValue::Text(text) => quoted(text),
        MiValue::Tuple(Results(all)) => {
            let all = all
                .iter()
                .map(|(name, value)| format!("{name}={}", written(value)));
            format!("{{{}}}", joined(all.collect()))
        }
        MiValue::List(all) => format!("[{}]", joined(all.iter().map(written).collect())),
    }
}

fn any_value() -> impl Strategy<Value = MiValue> {
    let leaf = any::<String>().prop_map(MiValue::Text);
    leaf.prop_recursive(4, 24, 4, |inner| {
        let named = ("[a-z][a-z_-]{0,8}", inner.clone());
        prop_oneof![
            prop::collection::vec(named, 0..4).prop_map(|all| MiValue::Tuple(Results(all))),
            prop::collection::vec(inner, 0..4).prop_map(MiValue::List),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read(token in any::<u64>(), value in any_value()) {
        let line = format!("{token}^done,value={}", written(&value));
        let expected = MiRecord::Answer {
            token: Some(token),
            class: "done".to_owned(),
            results: Results(vec![("value".to_owned(), value)]),
        };
        prop_assert_eq!(parse(&line), expected);
    }

    #[test]
    fn every_line_is_some_record(line in "[0-9]{0,3}[~@&^*=+]?[a-z\\\\\"{}\\[\\],=0-9ü]{0,40}") {
        parse(&line);
    }
}
