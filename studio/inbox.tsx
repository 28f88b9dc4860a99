import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { hrefTo } from './address.ts';
import { mayPass, Refused } from './api.ts';
import type { Approval, CallDetails } from './api-types.ts';
import { keyOf } from './decided.ts';
import { type Answer, decidedHere, Untaken, useDecision } from './deciding.tsx';
import { Field, isSound, ObjectForm } from './form.tsx';
import { fromNow } from './format.ts';
import { Fold, Note, ProblemNote, useAnswer } from './parts.tsx';
import { keepChecked } from './listing.ts';
import { messageText } from './record.ts';
import { type Schema, withFlags } from './schema.ts';
import { listRun, listWaiting, may, me, waiting, waitingError, waitsMore } from './caller.ts';
import { cutMembers, Fields, Line, Name, Text } from './text.tsx';
import { waitName } from './notes.ts';
import { TEXTS } from './texts.ts';

/** Everything that waits for a decision, the oldest deadline first. */
export function InboxPage(): JSX.Element {
  const all = waiting.value;
  const [chosen, setChosen] = useState<string>();
  const [showsKeys, setShowsKeys] = useState(false);
  const index = Math.max(0, all?.findIndex((one) => keyOf(one) === chosen) ?? 0);
  const current = all?.[index];
  const move = (by: number): void => {
    const next = all?.[Math.min(Math.max(0, index + by), all.length - 1)];
    if (next !== undefined) setChosen(keyOf(next));
  };
  const [hasVanished, noticed] = useVanished(current, all);
  // What is shown stays, also if something with an earlier deadline comes before it: a key must not decide about another thing than was read.
  useLayoutEffect(() => {
    if (current !== undefined) setChosen(keyOf(current));
  }, [current === undefined ? '' : keyOf(current)]);
  const entries = useEntries(useNow());
  useChecked(current);
  useKeptFocus(current === undefined ? '' : keyOf(current));
  useKeys({ j: () => move(1), k: () => move(-1), '?': () => setShowsKeys((before) => !before) });
  // What has come into the place of something else was perhaps not read yet when the key was pressed.
  useKeys(hasVanished ? { a: noticed, e: noticed, r: noticed } : {});
  return (
    <>
      <h1>{TEXTS.inbox}</h1>
      {waitingError.value !== undefined && <ProblemNote error={waitingError.value} again={() => void listWaiting()} />}
      <p class="dim" role="status">
        {all === undefined ? TEXTS.loading : waitsMore.value ? TEXTS.waitsAtLeast(all.length) : TEXTS.waits(all.length)}
      </p>
      <Untaken />
      {hasVanished && <Note tone="warn">{current === undefined ? TEXTS.notThere : `${TEXTS.notThere} ${TEXTS.readNext}`}</Note>}
      {all?.length === 0 && <Note tone="good">{TEXTS.nothingWaits}</Note>}
      {current !== undefined && (
        <>
          <p class="dim">{TEXTS.keys}</p>
          {showsKeys && <KeyList />}
          <div class="inbox">
            <ul class="waiting" aria-label={TEXTS.inbox}>
              {all?.map((one) => entries(one, one === current, () => setChosen(keyOf(one))))}
            </ul>
            <Decision key={keyOf(current)} approval={current} keys={!hasVanished} />
          </div>
        </>
      )}
    </>
  );
}

/** The approvals of a run, decided in place. */
export function Approvals({ of: approvals }: { of: readonly Approval[] }): JSX.Element | null {
  return (
    <>
      <Untaken />
      {approvals.length > 0 && (
        <section class="approvals" aria-label={TEXTS.waits(approvals.length)}>
          {approvals.map((one, index) => (
            <Decision key={keyOf(one)} approval={one} place={approvals.length > 1 ? TEXTS.nth(index + 1, approvals.length) : undefined} />
          ))}
        </section>
      )}
    </>
  );
}

function KeyList(): JSX.Element {
  return (
    <dl class="facts" aria-label={TEXTS.keys}>
      {TEXTS.keyList.map(([key, text]) => (
        <div key={key}>
          <dt>
            <kbd>{key}</kbd>
          </dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}

/** True if what was shown last has gone without a decision of this reader, until something else has or the reader has noticed it. */
function useVanished(current: Approval | undefined, all: readonly Approval[] | undefined): [hasVanished: boolean, noticed: () => void] {
  const [hasVanished, setVanished] = useState(false);
  const before = useRef<string | undefined>(undefined);
  const key = current === undefined ? undefined : keyOf(current);
  // No key comes between what is drawn and this.
  useLayoutEffect(() => {
    const last = before.current;
    before.current = key;
    if (last === undefined || last === key) return;
    setVanished(!decidedHere.has(last) && all?.every((one) => keyOf(one) !== last) === true);
  }, [key]);
  return [hasVanished, () => setVanished(false)];
}

/** Asks anew about what a reader looks at: somebody else may have decided it, and a feed may have missed that. */
function useChecked(current: Approval | undefined): void {
  const { runId = '' } = current ?? {};
  const key = current === undefined ? undefined : keyOf(current);
  useEffect(() => {
    if (key === undefined) return undefined;
    const check = async (): Promise<string> => {
      await listRun(me.peek()?.runId ?? runId);
      return JSON.stringify(waiting.peek()?.filter((one) => one.runId === runId));
    };
    let looking = new AbortController();
    const look = (): void => {
      looking.abort();
      looking = new AbortController();
      if (!document.hidden) void keepChecked(check, looking.signal);
    };
    look();
    document.addEventListener('visibilitychange', look);
    return () => {
      document.removeEventListener('visibilitychange', look);
      looking.abort();
    };
  }, [key]);
}

/** Draws times that are relative to now anew from time to time. Returns a number that changes then. */
function useNow(): number {
  const [round, setRound] = useState(0);
  useEffect(() => {
    const often = setInterval(() => setRound((before) => before + 1), 15_000);
    return () => clearInterval(often);
  }, []);
  return round;
}

/** Returns a function that makes entries, and keeps them for as long as they say the same: with each decision, a thousand others stay. */
function useEntries(round: number): (approval: Approval, isCurrent: boolean, choose: () => void) => JSX.Element {
  const kept = useMemo(() => new WeakMap<Approval, JSX.Element>(), [round]);
  return (approval, isCurrent, choose) => {
    const known = isCurrent ? undefined : kept.get(approval);
    if (known !== undefined) return known;
    const entry = <Entry key={keyOf(approval)} approval={approval} isCurrent={isCurrent} choose={choose} />;
    if (!isCurrent) kept.set(approval, entry);
    return entry;
  };
}

/** Once something was decided, its button is gone: the focus moves to what is next, and not back to the beginning of the page. */
function useKeptFocus(current: string): void {
  const before = useRef(current);
  useEffect(() => {
    const hadOther = before.current !== '' && before.current !== current;
    before.current = current;
    if (hadOther && document.activeElement === document.body)
      document.querySelector<HTMLElement>(current === '' ? '#main' : '.waiting [aria-current=true]')?.focus();
  }, [current]);
}

/** Calls back for single keys, unless the reader writes something. A key that is held down decides once. */
function useKeys(keys: Readonly<Record<string, () => void>>): void {
  const newest = useRef(keys);
  newest.current = keys;
  // No key comes between what is drawn and this: a busy page paints late, and its reader does not press twice.
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const { target, key, ctrlKey, altKey, metaKey, repeat, defaultPrevented } = event;
      // One press does one thing: what it has changed is drawn before the next listener gets it.
      if (defaultPrevented) return;
      if (ctrlKey || altKey || metaKey || (target instanceof HTMLElement && target.matches('input:not([type=checkbox]), textarea, select')))
        return;
      const act = newest.current[key];
      if (act === undefined) return;
      event.preventDefault();
      if (!repeat || MOVING.has(key)) act();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
}

/** The keys that only move. */
const MOVING = new Set(['j', 'k']);

function Entry({ approval, isCurrent, choose }: { approval: Approval; isCurrent: boolean; choose: () => void }): JSX.Element {
  const { toolName, agentName, about, deadlineAt, requestedAt } = approval;
  const element = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isCurrent) element.current?.scrollIntoView({ block: 'nearest' });
  }, [isCurrent]);
  return (
    <li ref={element}>
      <button type="button" aria-current={isCurrent} onClick={choose}>
        <strong>
          <Name of={waitName(toolName)} limit={60} />
        </strong>
        <small>
          <Name of={agentName ?? about?.agentName} limit={60} />
          {about?.user !== undefined && (
            <>
              {' · '}
              <Name of={about.user} limit={40} />
            </>
          )}
        </small>
        {about?.question !== undefined && (
          <small>
            <Line of={about.question} limit={60} />
          </small>
        )}
        <small class="dim">{deadlineAt === undefined ? TEXTS.since(fromNow(requestedAt)) : TEXTS.due(fromNow(deadlineAt))}</small>
      </button>
    </li>
  );
}

interface DecisionOptions {
  approval: Approval;
  keys?: boolean;
  /** Its place among several of a run, which may be about the same tool. */
  place?: string | undefined;
}

/** One decision: what is asked, in which run, and the ways to answer. */
export function Decision({ approval: given, keys = false, place }: DecisionOptions): JSX.Element {
  const [meanwhile, setMeanwhile] = useState<string>();
  // The digest of the arguments that the reader knows: a key that was meant for them does not decide about others.
  const [known, setKnown] = useState(given.digest);
  const isNew = known !== given.digest;
  const notice = (): void => {
    setKnown(given.digest);
    setMeanwhile(undefined);
  };
  useKeys(keys && isNew ? { a: notice, e: notice, r: notice } : {});
  const whole = useWhole(given);
  return (
    <article class="decision" aria-label={place === undefined ? waitName(given.toolName) : `${waitName(given.toolName)}, ${place}`}>
      <Subject approval={given} />
      {isNew ? (
        <Note tone="warn">{keys ? `${TEXTS.changedMeanwhile} ${TEXTS.readAgain}` : TEXTS.changedMeanwhile}</Note>
      ) : (
        meanwhile !== undefined && <Note tone="warn">{meanwhile}</Note>
      )}
      <Before approval={given} call={whole.call} />
      {whole.error !== undefined && <ProblemNote error={whole.error} again={whole.again} />}
      {whole.arguments !== undefined ? (
        <Answers
          key={given.digest}
          approval={given}
          shown={whole.arguments}
          schema={whole.schema}
          keys={keys && !isNew}
          onRefused={setMeanwhile}
        />
      ) : (
        whole.error === undefined && <p class="dim">{TEXTS.loading}</p>
      )}
    </article>
  );
}

interface Whole {
  arguments: object | undefined;
  schema: Schema | undefined;
  call: CallDetails | undefined;
  error: unknown;
  /** Reads anew what could not be read. */
  again: () => void;
}

/** The first pause before a call is asked for again that is lost, or of which the list says something else, and how often it doubles. */
const ASKED_AGAIN_AFTER = 2_000;
const DOUBLINGS = 5;

/** The calls that a reader of one run alone does not reach, and those that are not recorded as such: what the list says of them is enough. */
const WITHOUT_DETAILS = new Set(['run_not_found', 'call_not_found', 'not_authorized']);

/** Returns the whole arguments of what waits: a list cuts those that are large. */
function useWhole({ runId = '', callId, arguments: listed, argumentsCut, schema, kind, digest }: Approval): Whole {
  const request = kind === 'limit' ? undefined : { params: { runId, callId } };
  const { value: call, error, again } = useAnswer('GET /v1/runs/{runId}/calls/{callId}', request);
  // The digest is no part of the request: what waits under the same id may have changed, before the answer came or after.
  const isOther = call !== undefined && call.waiting?.digest !== digest;
  const isLost = error !== undefined && (argumentsCut || !(error instanceof Refused && WITHOUT_DETAILS.has(error.problem.code)));
  const tries = useRef(0);
  useEffect(() => {
    if (!isOther && !(isLost && mayPass(error))) return undefined;
    const timer = setTimeout(again, ASKED_AGAIN_AFTER * 2 ** Math.min(DOUBLINGS, tries.current));
    tries.current += 1;
    return () => clearTimeout(timer);
  }, [call, digest, error]);
  return {
    arguments: argumentsCut ? (isOther ? undefined : call?.waiting?.arguments) : listed,
    schema: schema ?? call?.schema,
    call,
    error: isLost ? error : undefined,
    again,
  };
}

function Subject({ approval }: { approval: Approval }): JSX.Element {
  const { kind, toolName, runId = '', agentName, about, description, reason, deadlineAt, onDeadline = 'reject', at } = approval;
  return (
    <header>
      <h2>
        <Name of={waitName(toolName)} />
      </h2>
      <p>
        <a href={hrefTo(['runs', runId])}>
          <Name of={agentName ?? about?.agentName ?? TEXTS.run} />
        </a>{' '}
        <small class="dim">
          <Name of={runId} limit={100} />
          {at !== undefined && <Name of={` · ${at}`} />}
          {about?.tenant !== undefined && <Name of={` · ${about.tenant}`} />}
          {about?.user !== undefined && <Name of={` · ${about.user}`} />}
        </small>
      </p>
      {deadlineAt !== undefined && <p class="tone-warn">{TEXTS.deadline(fromNow(deadlineAt), TEXTS.deadlineActions[onDeadline])}</p>}
      {kind === 'limit' && <p>{TEXTS.limitAsked}</p>}
      {kind === 'outcome' && <p>{TEXTS.outcomeAsked}</p>}
      {reason !== undefined && (
        <div>
          <h3>{TEXTS.why}</h3>
          <Text of={reason} limit={1_000} />
        </div>
      )}
      {description !== undefined && (
        <div class="dim">
          <Text of={description} limit={400} />
        </div>
      )}
    </header>
  );
}

/** What the user asked, and what the model said with the call. */
function Before({ approval, call }: { approval: Approval; call: CallDetails | undefined }): JSX.Element {
  const { runId = '', about } = approval;
  const request = call === undefined ? undefined : { params: { runId }, query: { from: call.offset, limit: 1 } };
  const page = useAnswer('GET /v1/runs/{runId}/events', request);
  const said = page.value?.events
    .flatMap(({ content }) => content.filter((one) => one.type === 'message'))
    .map(messageText)
    .join('\n');
  return (
    <>
      {page.error !== undefined && <ProblemNote error={page.error} again={page.again} />}
      {about?.question !== undefined && (
        <div>
          <h3>{TEXTS.asked}</h3>
          <Text of={about.question} limit={600} />
        </div>
      )}
      {said !== undefined && said !== '' && (
        <div>
          <h3>{TEXTS.said}</h3>
          <Text of={said} limit={1_000} />
        </div>
      )}
    </>
  );
}

type Remember = '' | 'tool' | 'arguments';
type Form = 'none' | 'edit' | 'reject';

interface AnswersOptions {
  approval: Approval;
  /** The arguments that the reader sees. */
  shown: object;
  schema: Schema | undefined;
  keys: boolean;
  onRefused: (text: string) => void;
}

/** Characters of an argument that are shown at once. What has more must have been opened before it can be approved. */
const AT_ONCE = 20_000;

/** What a reader has written about a decision so far. */
interface Draft {
  form: Form;
  edited: object;
  reason: string;
  remember: Remember;
  content: unknown;
  /** The arguments that were cut at first, and of which the reader has opened everything. */
  opened: ReadonlySet<string>;
}

/** The arguments, and the ways to decide about them. */
function Answers({ approval, shown, schema, keys, onRefused }: AnswersOptions): JSX.Element {
  const [draft, setDraft] = useState<Draft>({
    form: 'none',
    edited: shown,
    reason: '',
    remember: '',
    content: undefined,
    opened: new Set(),
  });
  const change = (changes: Partial<Draft>): void => setDraft((before) => ({ ...before, ...changes }));
  const open = (key: string): void => setDraft((before) => ({ ...before, opened: new Set([...before.opened, key]) }));
  const cut = useMemo(() => cutMembers(shown, AT_ONCE), [shown]);
  const isWhole = draft.opened.size >= cut;
  const { busy, error, decide } = useDecision(approval, onRefused);
  const canDecide = may('approvals:decide');
  const place = useRef<HTMLDivElement>(null);
  // What a field shows and could not be taken over would not be what is decided.
  const decideIfSound = (answer: Answer): void => {
    if (answer.type === 'reject' || isSound(place.current)) decide(answer);
  };
  const ways = waysOf({ approval, draft, schema, isWhole, busy, change, decide: decideIfSound });
  useKeys(keys && canDecide ? ways.keys : {});
  const { form, edited } = draft;
  const leave = (event: KeyboardEvent): void => {
    if (event.key === 'Escape' && form !== 'none') change({ form: 'none' });
  };
  return (
    <div ref={place} onKeyDown={leave}>
      <h3>{TEXTS.arguments}</h3>
      {form === 'edit' ? (
        <EditForm schema={schema ?? {}} value={edited} onChange={(value) => change({ edited: value })} />
      ) : (
        <Fields of={shown} limit={AT_ONCE} onWhole={open} />
      )}
      {schema !== undefined && <Fold title={TEXTS.schema}>{() => <Fields of={schema} />}</Fold>}
      {error !== undefined && <ProblemNote error={error} />}
      {!canDecide && <Note>{TEXTS.mayNotDecide}</Note>}
      {canDecide && !isWhole && <Note tone="warn">{TEXTS.readFirst}</Note>}
      {canDecide && <Ways approval={approval} draft={draft} busy={busy} change={change} ways={ways} />}
    </div>
  );
}

/** The arguments as a form, whose first field has the focus. */
function EditForm({ schema, value, onChange }: { schema: Schema; value: object; onChange: (value: object) => void }): JSX.Element {
  const form = useRef<HTMLFormElement>(null);
  useLayoutEffect(() => form.current?.querySelector<HTMLElement>('input, textarea, select')?.focus(), []);
  return (
    <form ref={form} class="edit" onSubmit={(event) => event.preventDefault()}>
      <ObjectForm schema={schema} value={value} onChange={(changed) => onChange(changed as object)} />
    </form>
  );
}

interface WaysToDecide {
  approve: () => void;
  respond: () => void;
  reject: () => void;
  toggleEdit: () => void;
  canRespond: boolean;
  canApprove: boolean;
  canEdit: boolean;
  keys: Record<string, () => void>;
}

interface WaysOptions {
  approval: Approval;
  draft: Draft;
  schema: Schema | undefined;
  /** True if all of the arguments were on the screen. */
  isWhole: boolean;
  busy: boolean;
  change: (changes: Partial<Draft>) => void;
  decide: (answer: Answer) => void;
}

/** Returns the ways in which a reader can decide now, by buttons and by keys. */
function waysOf({ approval: { kind, answer }, draft, schema = {}, isWhole, busy, change, decide }: WaysOptions): WaysToDecide {
  const { form, edited, reason, remember, content = emptyAnswer(answer) } = draft;
  const memory = remember === '' ? {} : { remember };
  const isQuestion = kind === 'question';
  const canEdit = kind === 'tool';
  const canApprove = !busy && isWhole && !isQuestion;
  const approve = (): void =>
    decide({ type: 'approve', ...(form === 'edit' ? { arguments: withFlags(schema, edited) as never } : {}), ...memory });
  // The first press asks for a reason, the second one sends it.
  const reject = (): void =>
    form === 'reject' ? decide({ type: 'reject', reason: reason || undefined, ...memory }) : change({ form: 'reject' });
  const toggleEdit = (): void => change({ form: form === 'edit' ? 'none' : 'edit' });
  return {
    approve,
    reject,
    toggleEdit,
    respond: () => decide({ type: 'respond', content: withFlags(answer ?? {}, content) }),
    canRespond: !busy && content !== undefined,
    canApprove,
    canEdit,
    keys: { ...(canApprove ? { a: approve } : {}), ...(canEdit ? { e: toggleEdit } : {}), ...(busy ? {} : { r: reject }) },
  };
}

/** An answer whose members are all left out, if the question takes one: the service says which of them are missing. */
function emptyAnswer(schema: Approval['answer']): object | undefined {
  return (schema as Schema | undefined)?.type === 'object' ? {} : undefined;
}

function Ways({
  approval,
  draft,
  busy,
  change,
  ways,
}: Omit<WaysOptions, 'decide' | 'isWhole' | 'schema'> & { ways: WaysToDecide }): JSX.Element {
  const { form, content, reason, remember } = draft;
  const isQuestion = approval.kind === 'question';
  return (
    <>
      {isQuestion && <Question approval={approval} content={content} onChange={(value) => change({ content: value })} />}
      {form === 'reject' && <Reason value={reason} onChange={(value) => change({ reason: value })} />}
      {approval.kind === 'tool' && <Memory value={remember} onChange={(value) => change({ remember: value })} />}
      <p class="buttons">
        {isQuestion ? (
          <button type="button" class="good" disabled={!ways.canRespond} onClick={ways.respond}>
            {TEXTS.respond}
          </button>
        ) : (
          <button type="button" class="good" disabled={!ways.canApprove} onClick={ways.approve}>
            {form === 'edit' ? TEXTS.approveEdited : TEXTS.approve}
          </button>
        )}
        {ways.canEdit && (
          <button type="button" onClick={ways.toggleEdit}>
            {form === 'edit' ? TEXTS.stopEditing : TEXTS.edit}
          </button>
        )}
        <button type="button" class="danger" disabled={busy} onClick={ways.reject}>
          {form === 'reject' ? TEXTS.rejectNow : TEXTS.reject}
        </button>
      </p>
    </>
  );
}

function Question({
  approval,
  content,
  onChange,
}: {
  approval: Approval;
  content: unknown;
  onChange: (content: unknown) => void;
}): JSX.Element {
  const schema = (approval.answer ?? { type: 'string' }) as Schema;
  if (schema.type === 'object') return <ObjectForm schema={schema} value={content ?? {}} onChange={onChange} />;
  if (schema.type === 'string' && schema.enum === undefined)
    return (
      <label>
        {TEXTS.respond}
        <textarea
          rows={2}
          value={(content as string | undefined) ?? ''}
          onInput={(event) => onChange(event.currentTarget.value || undefined)}
        />
      </label>
    );
  // A box that is not checked would not say whether the answer is no, or none.
  if (schema.type === 'boolean')
    return (
      <Field
        name={TEXTS.respond}
        schema={{ ...schema, enum: ['true', 'false'] }}
        value={content === undefined ? undefined : JSON.stringify(content)}
        required
        onChange={(value) => onChange(value === undefined ? undefined : value === 'true')}
      />
    );
  return <Field name={TEXTS.respond} schema={schema} value={content} required onChange={onChange} />;
}

function Reason({ value, onChange }: { value: string; onChange: (value: string) => void }): JSX.Element {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  return (
    <label>
      {TEXTS.reason}
      <textarea ref={field} rows={2} value={value} onInput={(event) => onChange(event.currentTarget.value)} />
    </label>
  );
}

function Memory({ value, onChange }: { value: Remember; onChange: (value: Remember) => void }): JSX.Element {
  return (
    <label>
      {TEXTS.remember}
      <select value={value} onChange={(event) => onChange(event.currentTarget.value as Remember)}>
        <option value="">{TEXTS.rememberNot}</option>
        <option value="tool">{TEXTS.rememberTool}</option>
        <option value="arguments">{TEXTS.rememberArguments}</option>
      </select>
    </label>
  );
}
