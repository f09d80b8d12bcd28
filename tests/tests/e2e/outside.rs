//! Input from outside the process: a replay is given what the run was given, and says where the world
//! has changed.

use anyhow::{Context, Result, ensure};
use std::{
    fs,
    io::{Read, Write},
    net::TcpListener,
    path::Path,
    thread,
};
use unsnarl_e2e::{TestedCompiler, Workspace, program::compile};

const HEAD: &str = "#include <arpa/inet.h>
#include <assert.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

static int total, step;

static void *add(void *arg)
{
    int seen = total;
    total = seen + step;
    return arg;
}

/* Loses an update of 1 and 1 in some orders; says so only when the step is 1. */
static int race(int input)
{
    pthread_t threads[2];
    step = input;
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, add, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(step != 1 || total == 2);
    return 0;
}
";

fn program(name: &str, statements: &str, compiler: TestedCompiler) -> Result<Workspace> {
    let workspace = Workspace::new()?;
    let source = format!("{name}.c");
    let text = format!("{HEAD}\nint main(int count, char **words)\n{{\n{statements}\n}}\n");
    workspace.write(&source, &text)?;
    compile(&workspace, Path::new(&source), name, compiler)?;
    Ok(workspace)
}

fn first_failing(workspace: &Workspace) -> Result<String> {
    let failing = workspace.runs_that("failed")?;
    let name = failing.first().context("no run failed")?;
    Ok(workspace.run_path(name))
}

#[test]
fn random_numbers_are_the_same_again() -> Result<()> {
    for compiler in [TestedCompiler::Gcc, TestedCompiler::Clang] {
        let workspace = program(
            "draws",
            "    unsigned char drawn[2];
    int urandom = open(\"/dev/urandom\", O_RDONLY);
    if (getrandom(drawn, 1, 0) != 1 || read(urandom, drawn + 1, 1) != 1)
        return 2;
    return race((drawn[0] ^ drawn[1]) & 3);",
            compiler,
        )?;
        workspace
            .record(&["-n", "400", "--until-failing", "1"], "./draws")?
            .exits(1)?;
        let run = first_failing(&workspace)?;
        workspace.unsnarl(&["replay", &run, "-n", "20"])?.exits(0)?;
    }
    Ok(())
}

#[test]
fn a_file_that_changed_is_read_as_it_was() -> Result<()> {
    let workspace = program(
        "reads",
        "    char line[16] = \"\", again[16] = \"\";
    FILE *file = fopen(\"step\", \"r\");
    if (!file || !fgets(line, sizeof line, file))
        return 2;
    fclose(file);
    int fd = open(\"step\", O_RDONLY);
    if (fd < 0 || read(fd, again, 2) != 2)
        return 3;
    close(fd);
    return race(atoi(line) == atoi(again) ? atoi(line) : 0);",
        TestedCompiler::Gcc,
    )?;
    workspace.write("step", "1\n")?;
    workspace
        .record(&["-n", "400", "--until-failing", "1"], "./reads")?
        .exits(1)?;
    let run = first_failing(&workspace)?;
    workspace.write("step", "27\n")?;
    workspace
        .unsnarl(&["replay", &run, "-n", "3"])?
        .exits(0)?
        .says(&["other input", "reads.c:", "read", "27"])?;
    fs::remove_file(workspace.path().join("step"))?;
    workspace
        .unsnarl(&["replay", &run, "-n", "3"])?
        .exits(0)?
        .says(&["other input", "No such file"])?;
    Ok(())
}

/// Answers so many connections with "1".
fn serve(listener: TcpListener, connections: usize) -> Result<()> {
    for stream in listener.incoming().take(connections) {
        let mut stream = stream?;
        let mut question = [0; 4];
        stream.read_exact(&mut question)?;
        stream.write_all(b"1\n")?;
    }
    Ok(())
}

#[test]
fn a_peer_that_is_gone_is_heard_again() -> Result<()> {
    let workspace = program(
        "asks",
        "    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(atoi(words[1])),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char answer[4] = \"\";
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&at, sizeof at) || send(fd, \"step\", 4, 0) != 4)
        return 2;
    if (recv(fd, answer, 2, MSG_WAITALL) != 2)
        return 3;
    close(fd);
    return count < 0 ? 4 : race(atoi(answer));",
        TestedCompiler::Gcc,
    )?;
    const RUNS: usize = 60;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port().to_string();
    let server = thread::spawn(move || serve(listener, RUNS));
    let runs = RUNS.to_string();
    let words = ["record", "-n", &runs, "--seed", "1", "--", "./asks", &port];
    workspace.unsnarl(&words)?.exits(1)?;
    server.join().ok().context("the server failed")??;
    let run = first_failing(&workspace)?;
    let finished = workspace.unsnarl(&["replay", &run, "-n", "3"])?.exits(0)?;
    finished.says(&["other input", "connect", "refused"])?;
    Ok(())
}

#[test]
fn what_is_recorded_of_the_input_is_told_when_it_is_too_much() -> Result<()> {
    let workspace = program(
        "much",
        "    static char block[1 << 20];
    int fd = open(\"much.input\", O_RDONLY);
    while (read(fd, block, sizeof block) > 0)
        ;
    return race(0);",
        TestedCompiler::Gcc,
    )?;
    workspace.write("much.input", &"x".repeat(6 << 20))?;
    workspace
        .record(&["-n", "1"], "./much")?
        .exits(0)?
        .says(&["input", "not kept"])?;
    let runs = workspace.runs()?;
    ensure!(runs.len() == 1, "{runs:?}");
    Ok(())
}
