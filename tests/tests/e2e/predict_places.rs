//! `unsnarl predict` of programs in which some steps have no place in the user's code.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use unsnarl_e2e::Workspace;

/// `std::async` starts its threads in the library, and what is called there has no caller of the user's.
const ASYNC: &str = "
#include <cassert>
#include <future>
#include <mutex>
static int total;
static std::once_flag once;
static int *table;
static void make() { table = new int[2](); }
static int add(int n)
{
    std::call_once(once, make);
    int seen = total;
    table[n & 1]++;
    total = seen + n;
    return seen;
}
static int (*volatile operation)(int) = add;
int main()
{
    auto one = std::async(std::launch::async, [] { return operation(1); });
    auto two = std::async(std::launch::async, [] { return operation(2); });
    one.get();
    two.get();
    assert(total == 3);
}
";

#[test]
fn tasks_and_indirect_calls_are_predicted_and_executed() -> Result<()> {
    let workspace = Workspace::new()?;
    workspace.write("prog.cc", ASYNC)?;
    let build = ["c++", "-g", "-O1", "-pthread", "prog.cc", "-o", "prog"];
    workspace.unsnarl(&build)?.exits(0)?;
    let command = ["predict", "--format", "json", "--", "./prog"];
    let finished = workspace.unsnarl(&command)?.exits(1)?;
    let json: Value = serde_json::from_str(&finished.stdout)?;
    let tally = json.pointer("/predictions/0/tally");
    let tally = tally.context("no tally")?;
    ensure!(tally["executed"].as_u64() >= Some(1), "{finished}");
    ensure!(
        tally["not_reproduced"].get("not-placed").is_none(),
        "{finished}"
    );
    ensure!(tally["failed"].as_u64() >= Some(1), "{finished}");
    Ok(())
}
