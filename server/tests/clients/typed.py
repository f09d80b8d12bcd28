"""A client with the protocol's types, pytest-lsp, asks for all that the server offers, with the capabilities of real
editors. Whatever is no message of the protocol, or not for these capabilities, ends it."""

import asyncio
import sys
import warnings
from pathlib import Path

from lsprotocol import types
from pytest_lsp import LspSpecificationWarning, client_capabilities
from pytest_lsp.client import make_test_lsp_client

SERVER, FOLDER = sys.argv[1], Path(sys.argv[2])
SOURCE = (FOLDER / "bank.c").as_uri()
DOCUMENT = types.TextDocumentIdentifier(uri=SOURCE)
HEADLINE = "another thread's update of `balance` was lost"
# Lines from 0.
BETWEEN, READ, WRITE, ASSERTION = 5, 11, 15, 23
EVERYTHING = types.Range(types.Position(0, 0), types.Position(99, 0))


async def session(editor):
    client = make_test_lsp_client()
    await client.start_io(SERVER, "lsp")
    params = types.InitializeParams(
        capabilities=client_capabilities(editor),
        workspace_folders=[types.WorkspaceFolder(uri=FOLDER.as_uri(), name="bank")],
        root_uri=FOLDER.as_uri(),
    )
    offered = (await client.initialize_session(params)).capabilities
    text = (FOLDER / "bank.c").read_text()
    document = types.TextDocumentItem(uri=SOURCE, language_id="c", version=1, text=text)
    client.text_document_did_open(types.DidOpenTextDocumentParams(document))
    while SOURCE not in client.diagnostics or not client.diagnostics[SOURCE]:
        await asyncio.wait_for(client.wait_for_notification("textDocument/publishDiagnostics"), 60)
    return client, offered


def at(params, line, **more):
    return params(text_document=DOCUMENT, position=types.Position(line, 4), **more)


def lines(ranges):
    return sorted(one.start.line for one in ranges)


def of_failure(diagnostics):
    """Those of a fix come when the fix does."""
    return [one for one in diagnostics if not one.message.startswith("a fix changes this line")]


async def marks(client):
    found = of_failure(client.diagnostics[SOURCE])
    assert {one.source for one in found} == {"unsnarl"}, found
    assert lines(one.range for one in found) == [BETWEEN, READ, WRITE, ASSERTION], found
    hover = await client.text_document_hover_async(at(types.HoverParams, READ))
    assert "balance" in hover.contents.value, hover
    hints = await client.text_document_inlay_hint_async(types.InlayHintParams(DOCUMENT, EVERYTHING))
    assert sorted(hint.position.line for hint in hints) == [BETWEEN, READ, WRITE, ASSERTION], hints
    accesses = await client.text_document_document_highlight_async(at(types.DocumentHighlightParams, READ))
    assert lines(one.range for one in accesses) == [BETWEEN, READ, WRITE, ASSERTION], accesses


async def deeds(client, offered):
    lenses = await client.text_document_code_lens_async(types.CodeLensParams(DOCUMENT))
    found = client.diagnostics[SOURCE]
    context = types.CodeActionContext(diagnostics=[one for one in found if one.range.start.line == READ])
    asked = types.CodeActionParams(DOCUMENT, types.Range(types.Position(READ, 0), types.Position(READ, 9)), context)
    # Fixes are worked out behind the first marks. lsprotocol takes an action that has a command for the command itself,
    # so these cannot be looked at.
    fixes = []
    for _ in range(600):
        actions = await client.text_document_code_action_async(asked)
        fixes = [action for action in actions if isinstance(action, types.CodeAction) and action.edit]
        if fixes:
            break
        await asyncio.sleep(0.1)
    assert fixes, [action.title for action in actions]
    strange = {lens.command.command for lens in lenses} - set(offered.execute_command_provider.commands)
    assert not strange, strange


async def symbols(client):
    outline = await client.text_document_document_symbol_async(types.DocumentSymbolParams(DOCUMENT))
    assert [one.name for one in outline] == [HEADLINE], outline
    assert [step.name[:2] for step in outline[0].children] == ["1.", "2.", "3.", "4."], outline
    found = await client.workspace_symbol_async(types.WorkspaceSymbolParams("lost"))
    assert [one.name for one in found] == [HEADLINE], found


async def ways(client):
    written = await client.text_document_definition_async(at(types.DefinitionParams, ASSERTION))
    assert lines(one.range for one in written) == [WRITE], written
    context = types.ReferenceContext(include_declaration=True)
    accesses = await client.text_document_references_async(at(types.ReferenceParams, READ, context=context))
    assert lines(one.range for one in accesses) == [BETWEEN, READ, WRITE, ASSERTION], accesses
    [step] = await client.text_document_prepare_call_hierarchy_async(at(types.CallHierarchyPrepareParams, BETWEEN))
    before = await client.call_hierarchy_incoming_calls_async(types.CallHierarchyIncomingCallsParams(step))
    following = await client.call_hierarchy_outgoing_calls_async(types.CallHierarchyOutgoingCallsParams(step))
    steps = [before[0].from_.range, step.range, following[0].to.range]
    assert [one.start.line for one in steps] == [READ, BETWEEN, WRITE], steps


async def edits(client):
    insertion = types.TextDocumentContentChangePartial(
        text="/* above */\n", range=types.Range(types.Position(0, 0), types.Position(0, 0))
    )
    document = types.VersionedTextDocumentIdentifier(version=2, uri=SOURCE)
    client.text_document_did_change(types.DidChangeTextDocumentParams(document, [insertion]))
    moved = [line + 1 for line in (BETWEEN, READ, WRITE, ASSERTION)]
    while lines(one.range for one in of_failure(client.diagnostics[SOURCE])) != moved:
        await asyncio.wait_for(client.wait_for_notification("textDocument/publishDiagnostics"), 60)


async def main():
    warnings.simplefilter("error", LspSpecificationWarning)
    for editor in ["visual-studio-code", "neovim", "emacs"]:
        client, offered = await session(editor)
        await marks(client)
        await deeds(client, offered)
        await symbols(client)
        await ways(client)
        await edits(client)
        await client.shutdown_session()
        assert client.error is None, client.error
        print(f"{editor}: all requests are answered as the protocol says")


asyncio.run(main())
