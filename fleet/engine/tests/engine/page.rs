//! The page about fleets.

use unsnarl_fleet_engine::schema::COLUMNS;

#[test]
fn the_columns_are_those_of_the_page() {
    let page = include_str!("../../../../docs/fleet.md");
    let rows = page
        .split("| column | type |")
        .nth(1)
        .unwrap()
        .lines()
        .skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    let cells = |row: &str| {
        row.split('|')
            .skip(1)
            .take(2)
            .map(|cell| cell.trim().replace('`', ""))
            .collect::<Vec<_>>()
    };
    let documented: Vec<Vec<String>> = rows.map(cells).collect();
    assert_eq!(
        documented,
        COLUMNS.map(|(name, kind)| vec![name.to_owned(), kind.to_owned()])
    );
}
