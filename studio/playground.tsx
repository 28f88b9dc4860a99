import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { goTo, hrefTo, place } from './address.ts';
import { ask } from './api.ts';
import type { AgentEntry, ContentPart } from './api-types.ts';
import { ObjectForm } from './form.tsx';
import { Approvals } from './inbox.tsx';
import { Answer, Note, ProblemNote, Status, useAction, useAnswer } from './parts.tsx';
import { messageText, type Row, type RunRecord } from './record.ts';
import { may, waiting } from './caller.ts';
import { type Schema, withFlags } from './schema.ts';
import { EndedFromOutside, Steps } from './steps.tsx';
import { Name, Text } from './text.tsx';
import { TEXTS } from './texts.ts';
import { useFacts, useTimeline } from './timeline.tsx';
import { useRecord } from './use-record.ts';

/** A chat with any agent, as a session, next to its steps as they happen. */
export function PlaygroundPage({ agent, session }: { agent: string | undefined; session: string | undefined }): JSX.Element {
  return (
    <>
      <h1>{TEXTS.playground}</h1>
      {may('runs:write') ? <Chats agent={agent} session={session} /> : <Note tone="warn">{TEXTS.mayNotTalk}</Note>}
    </>
  );
}

interface ChatPlace {
  agent: string | undefined;
  session: string | undefined;
}

/** The chats with the agents of the service. */
export function Chats(chat: ChatPlace): JSX.Element {
  const agents = useAnswer('GET /v1/agents', {});
  return (
    <Answer of={agents}>
      {({ agents: all }) => (all.length === 0 ? <Note>{TEXTS.noAgents}</Note> : <ChosenChat all={all} {...chat} />)}
    </Answer>
  );
}

function ChosenChat({ all, agent, session }: ChatPlace & { all: AgentEntry[] }): JSX.Element {
  // An address that names another one would lead to a chat with somebody else.
  const chosen = agent === undefined ? all[0] : all.find(({ name }) => name === agent);
  return (
    <>
      <div class="filters">
        <label>
          {TEXTS.chooseAgent}
          <select value={chosen?.name ?? ''} onChange={(event) => goTo(['playground', event.currentTarget.value])}>
            {chosen === undefined && <option value="">{TEXTS.notSet}</option>}
            {all.map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        {session !== undefined && chosen !== undefined && <a href={hrefTo(['playground', chosen.name])}>{TEXTS.newChat}</a>}
        {session !== undefined && <a href={hrefTo(['runs', session])}>{TEXTS.openRun}</a>}
      </div>
      {chosen === undefined && (
        <div class="note warn" role="status">
          <Text of={TEXTS.noSuchAgent(agent ?? '')} />
        </div>
      )}
      {chosen?.description !== undefined && (
        <div class="dim">
          <Text of={chosen.description} limit={500} />
        </div>
      )}
      {chosen !== undefined && <Chat key={chosen.name} agent={chosen} session={session} />}
    </>
  );
}

function Chat({ agent, session }: { agent: AgentEntry; session: string | undefined }): JSX.Element {
  const { record, version, error } = useRecord(session);
  const timeline = useTimeline(session, useFacts(session, record));
  return (
    <div class="columns even">
      <section aria-label={TEXTS.playground} class="chat">
        {error !== undefined && <ProblemNote error={error} />}
        <Conversation record={record} version={version} isBegun={session !== undefined && error === undefined} />
        <EndedFromOutside record={record} />
        <Approvals
          of={waiting.value?.filter(({ runId }) => session !== undefined && (runId === session || runId?.startsWith(`${session}/`))) ?? []}
        />
        <Say agent={agent} session={session} />
      </section>
      <div class="beside">
        {session === undefined ? (
          <Note>{TEXTS.asItHappens}</Note>
        ) : (
          <Steps runId={session} record={record} version={version} timeline={timeline.read} error={error} />
        )}
      </div>
    </div>
  );
}

/** Pixels from the end of what was said at which a reader is at the end. */
const END = 40;

/** What was said, without the calls. */
function Conversation({ record, version, isBegun }: { record: RunRecord; version: number; isBegun: boolean }): JSX.Element {
  const log = useRef<HTMLDivElement>(null);
  // Who reads what was said before stays there.
  const isAtEnd = useRef(true);
  const lastTop = useRef(0);
  useLayoutEffect(() => {
    if (isAtEnd.current) log.current?.scrollTo({ top: log.current.scrollHeight });
  }, [version]);
  const note = ({ currentTarget: { scrollHeight, scrollTop, clientHeight } }: { currentTarget: HTMLDivElement }): void => {
    // A browser tells of scrolling later: what was said meanwhile makes the end farther away, but only a reader goes back.
    if (scrollHeight - scrollTop - clientHeight < END) isAtEnd.current = true;
    else if (scrollTop < lastTop.current) isAtEnd.current = false;
    lastTop.current = scrollTop;
  };
  const isWorking = record.status === 'running';
  return (
    <div role="log" aria-label={TEXTS.playground} class="talk" tabIndex={0} ref={log} onScroll={note}>
      {record.rows.length === 0 && record.live === undefined && !record.isRead && (
        <p class="dim">{isBegun ? TEXTS.loading : TEXTS.sayFirst}</p>
      )}
      {record.rows.flatMap((row) => {
        const said = sentence(row);
        return said === undefined ? [] : [<Bubble key={row.key} {...said} />];
      })}
      {record.live !== undefined && <Bubble who="" text={record.live.text} isOwn={false} />}
      {isWorking && record.live === undefined && <p class="dim">{TEXTS.thinking}</p>}
      {record.status !== '' && (
        <p>
          <Status of={record.status} />
        </p>
      )}
    </div>
  );
}

function sentence(row: Row): { who: string; text: string; isOwn: boolean } | undefined {
  if (row.kind === 'message')
    return { who: row.event.author, text: row.messages.map(messageText).join('\n'), isOwn: row.event.author === 'user' };
  if (row.kind === 'answer' && row.text !== '') return { who: row.event.author, text: row.text, isOwn: false };
  return undefined;
}

function Bubble({ who, text, isOwn }: { who: string; text: string; isOwn: boolean }): JSX.Element {
  return (
    <div class={`bubble ${isOwn ? 'own' : ''}`}>
      <small class="dim">{isOwn ? TEXTS.you : <Name of={who} />}</small>
      <Text of={text} limit={6_000} />
    </div>
  );
}

/** The most bytes of a file in a message: a body of the service has at most 1 MB. */
const MOST_BYTES = 500_000;

function Say({ agent, session }: { agent: AgentEntry; session: string | undefined }): JSX.Element {
  const [words, setWords] = useState('');
  const [file, setFile] = useState<File>();
  const [deps, setDeps] = useState<object>({});
  const { busy, outcome, act } = useAction();
  // A session whose first message was refused takes the next one: it would be left without any.
  const opened = useRef<{ sessionId: string; deps: string } | undefined>(undefined);
  /** The chat that the outcome of the last message belongs to. */
  const sentTo = useRef<string | undefined>(undefined);
  const needsDeps = session === undefined && agent.deps !== undefined;
  const openOnce = async (): Promise<string> => {
    const given = JSON.stringify(deps);
    if (opened.current?.deps !== given) opened.current = { sessionId: await open(agent, needsDeps ? deps : undefined), deps: given };
    return opened.current.sessionId;
  };
  const send = async (): Promise<string> => {
    const from = place.peek();
    sentTo.current = session;
    const content = file === undefined ? words : [{ type: 'text' as const, text: words }, await partOf(file)];
    const sessionId = session ?? (await openOnce());
    const receipt = await ask('POST /v1/sessions/{sessionId}/messages', { params: { sessionId }, body: { content } });
    // What was written meanwhile is the next message.
    setWords((now) => (now === words ? '' : now));
    setFile((now) => (now === file ? undefined : now));
    opened.current = undefined;
    sentTo.current = sessionId;
    // A reader who has gone elsewhere meanwhile does something there.
    if (session === undefined && place.peek() === from) goTo(['playground', agent.name, sessionId]);
    return TEXTS.receipts.sent(receipt.turn === undefined ? '' : TEXTS.receipts.turn(receipt.turn));
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    if (words.trim() !== '' && !busy) act(send);
  };
  return (
    <form onSubmit={submit} class="say">
      {needsDeps && (
        <fieldset>
          <legend>{TEXTS.deps}</legend>
          <ObjectForm schema={agent.deps as Schema} value={deps} onChange={(value) => setDeps(value as object)} />
        </fieldset>
      )}
      <Words value={words} onChange={setWords} />
      <div class="buttons">
        <button type="submit" class="good" disabled={busy || words.trim() === ''}>
          {TEXTS.send}
        </button>
        <Attach file={file} onChange={setFile} />
      </div>
      {sentTo.current === session && outcome}
    </form>
  );
}

/** What the reader says. Enter sends it as the button does. */
function Words({ value, onChange }: { value: string; onChange: (words: string) => void }): JSX.Element {
  const press = (event: KeyboardEvent & { currentTarget: HTMLTextAreaElement }): void => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    event.currentTarget.form?.requestSubmit();
  };
  return (
    <>
      <label>
        {TEXTS.say}
        <textarea rows={3} value={value} onInput={(event) => onChange(event.currentTarget.value)} onKeyDown={press} />
      </label>
      <small class="dim">{TEXTS.sayHelp}</small>
    </>
  );
}

function Attach({ file, onChange }: { file: File | undefined; onChange: (file: File | undefined) => void }): JSX.Element {
  const field = useRef<HTMLInputElement>(null);
  // The field says what is attached, and the same file may be chosen again for the next message.
  useLayoutEffect(() => {
    if (file === undefined && field.current !== null) field.current.value = '';
  }, [file]);
  return (
    <>
      <label class="attach">
        {file === undefined ? TEXTS.attach : <Name of={TEXTS.attached(file.name)} />}
        <input ref={field} type="file" onChange={({ currentTarget }) => onChange(currentTarget.files?.[0])} />
      </label>
      {file !== undefined && (
        <button type="button" onClick={() => onChange(undefined)}>
          {TEXTS.detach}
        </button>
      )}
    </>
  );
}

async function open({ name, deps: schema = {} }: AgentEntry, deps: object | undefined): Promise<string> {
  const given = deps === undefined ? {} : { deps: withFlags(schema, deps) as never };
  const { sessionId } = await ask('POST /v1/sessions', { body: { agent: name, ...given } });
  return sessionId;
}

/** Returns a file as a part of a message. Throws for one that is too large. */
async function partOf(file: File): Promise<ContentPart> {
  if (file.size > MOST_BYTES) throw new Error(TEXTS.tooLarge);
  const bytes = new Uint8Array(await file.arrayBuffer());
  const data = btoa(Array.from(bytes, (byte) => String.fromCodePoint(byte)).join(''));
  const [kind = ''] = file.type.split('/');
  const mediaType = file.type || 'application/octet-stream';
  return kind === 'image' ? { type: 'image', data, mediaType } : { type: 'file', data, mediaType, name: file.name };
}
