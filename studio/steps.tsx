import type { JSX } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { hrefTo, leaveFrom, place } from './address.ts';
import { dollars, span, spent } from './format.ts';
import { Call, HookLine } from './call.tsx';
import { Fold, Moment, Note, ProblemNote } from './parts.tsx';
import { decisionTone } from './notes.ts';
import { type AnswerRow, type CallRow, type LiveAnswer, messageText, ranWith, type Row, type RunRecord, rowText } from './record.ts';
import { Line, Name, Text } from './text.tsx';
import { TEXTS } from './texts.ts';
import { type ReadTimeline, useFacts, useTimeline } from './timeline.tsx';
import { useRecord } from './use-record.ts';
import { Windowed } from './window.tsx';

/** Rows up to which all are shown open; of more, only those on the screen exist, and each is closed at first. */
const FEW = 120;

const CLOSED_HEIGHT = 40;

interface StepsOptions {
  runId: string;
  record: RunRecord;
  version: number;
  timeline: ReadTimeline | undefined;
  /** Why calls have no result yet, by their ids. */
  waits?: ReadonlyMap<string, string>;
  /** Why nothing can be read, which is said elsewhere. */
  error: unknown;
  /** True if the service has said that nothing is recorded: the stream of a run that no worker has begun says nothing. */
  isEmpty?: boolean;
  /** The number of the step that the reader has come for. */
  at?: number | undefined;
}

/** The record of a run, step by step, with a search. */
export function Steps({ runId, record, version, timeline, waits, error, isEmpty = false, at }: StepsOptions): JSX.Element {
  const [words, setWords] = useState('');
  const rows = useMemo(() => rowsWith(record, words), [record, record.revision, words]);
  const isLong = rows.length > FEW;
  const here = useMemo(() => (at === undefined ? -1 : rows.findIndex((row) => stepNumber(row) === at)), [rows, record.revision, at]);
  const list = useRef<HTMLOListElement>(null);
  const isFound = here >= 0 && words === '';
  useLayoutEffect(() => {
    if (isFound) list.current?.children[here]?.scrollIntoView({ block: 'start' });
  }, [isFound, at, isLong]);
  const show = useRowViews({ runId, record, timeline, waits, isLong, here: rows[here]?.key });
  return (
    <section aria-labelledby="steps" class="steps">
      <div class="heading">
        <h2 id="steps">{TEXTS.steps}</h2>
        <input
          type="search"
          aria-label={TEXTS.search}
          placeholder={TEXTS.search}
          onInput={(event) => setWords(event.currentTarget.value)}
        />
        {words !== '' && <span role="status">{TEXTS.found(rows.length, record.rows.length)}</span>}
      </div>
      {record.rows.length === 0 && record.live === undefined && error === undefined && (
        <Note>{record.isRead || isEmpty ? TEXTS.noSteps : TEXTS.loading}</Note>
      )}
      {at !== undefined && here < 0 && words === '' && record.isRead && <Note tone="warn">{TEXTS.noSuchStep(at)}</Note>}
      {isLong ? (
        <Windowed
          key={words}
          count={rows.length}
          height={CLOSED_HEIGHT}
          row={(index) => show(rows[index] as Row)}
          keyOf={(index) => rows[index]?.key ?? ''}
          label={TEXTS.stepList}
          version={version}
          at={isFound ? here : undefined}
        />
      ) : (
        <ol class="rows" ref={list}>
          {rows.map((row) => (
            <li key={row.key}>{show(row)}</li>
          ))}
        </ol>
      )}
      {record.live !== undefined && words === '' && <Live live={record.live} />}
    </section>
  );
}

/** Returns a function that shows a row. */
function useRowViews({
  runId,
  record,
  timeline,
  waits,
  isLong,
  here,
}: Omit<StepsOptions, 'version' | 'error' | 'isEmpty' | 'at'> & { isLong: boolean; here: string | undefined }): (row: Row) => JSX.Element {
  // What the reader has opened and closed stays so, also when it comes back to the screen.
  const toggled = useMemo(() => new Map<string, boolean>(), [record]);
  // As long as nothing of a row has changed, the page has nothing to compare: what the model writes comes many times a second.
  const views = useMemo(() => new Map<string, JSX.Element>(), [record, record.revision, record.isOver, timeline, waits, isLong, here]);
  const waitsFor = (callId: string): string => waits?.get(callId) ?? (record.isOver ? TEXTS.noResultAtEnd : TEXTS.noResult);
  return (row) => {
    const isHere = row.key === here;
    const open = toggled.get(row.key) ?? (isHere || !isLong);
    const onToggle = (isOpen: boolean): void => {
      toggled.set(row.key, isOpen);
      views.delete(row.key);
    };
    const view = views.get(row.key) ?? (
      <RowView
        // It opens if its reader comes for it now.
        key={isHere ? `${row.key} here` : row.key}
        row={row}
        runId={runId}
        timeline={timeline}
        waitsFor={waitsFor}
        open={open}
        isHere={isHere}
        onToggle={onToggle}
      />
    );
    views.set(row.key, view);
    return view;
  };
}

/** Returns the number by which a step is linked to. Steps of programs have addresses, and calls of code belong to a step. */
function stepNumber(row: Row): number | undefined {
  return row.kind === 'answer' && row.at === undefined && row.event.caller !== 'code' ? row.number : undefined;
}

/** Returns the rows that say some words: all of them without any. */
function rowsWith({ rows }: RunRecord, words: string): readonly Row[] {
  if (words === '') return rows;
  const lower = words.toLowerCase();
  return rows.filter((row) => rowText(row).toLowerCase().includes(lower));
}

interface RowOptions {
  row: Row;
  runId: string;
  timeline: ReadTimeline | undefined;
  waitsFor: (callId: string) => string;
  open: boolean;
  /** True for the step that the reader has come for. */
  isHere: boolean;
  onToggle: (isOpen: boolean) => void;
}

function RowView({ row, runId, timeline, waitsFor, open, isHere, onToggle }: RowOptions): JSX.Element {
  if (row.kind === 'note') return <NoteRow row={row} />;
  if (row.kind === 'message') return <MessageRow row={row} open={open} onToggle={onToggle} />;
  return (
    <>
      {row.handedFrom !== undefined && (
        <p class="handoff">
          <Name of={TEXTS.handoff(row.event.author)} />
        </p>
      )}
      <div class={`row answer ${row.event.caller === 'code' ? 'code' : ''}`} aria-current={isHere ? 'location' : undefined}>
        <Fold open={open} onToggle={onToggle} titleClass="rowhead" title={<AnswerTitle row={row} />}>
          {() => <AnswerBody row={row} runId={runId} timeline={timeline} waitsFor={waitsFor} />}
        </Fold>
        {stepNumber(row) !== undefined && <StepLinks runId={runId} number={row.number} />}
      </div>
    </>
  );
}

/** Leads to the request of a step, and to the step itself: an address for others. Who comes back from a request is at its step again. */
function StepLinks({ runId, number }: { runId: string; number: number }): JSX.Element {
  const path = ['runs', runId, 'steps', String(number)];
  const leave = ({ button, ctrlKey, metaKey, shiftKey }: MouseEvent): void => {
    const isElsewhere = button !== 0 || ctrlKey || metaKey || shiftKey;
    if (!isElsewhere && place.peek().path[1] === runId) leaveFrom(path);
  };
  return (
    <span class="request">
      <a href={hrefTo([...path, 'request'])} aria-label={TEXTS.requestOf(number)} onClick={leave}>
        {TEXTS.request}
      </a>{' '}
      <a href={hrefTo(path)} aria-label={TEXTS.linkTo(number)} title={TEXTS.linkTo(number)}>
        #
      </a>
    </span>
  );
}

function NoteRow({ row }: { row: Extract<Row, { kind: 'note' }> }): JSX.Element {
  return (
    <div class="row fact">
      {row.texts.map(({ text, tone }, index) => (
        <div key={index} class={`tone-${tone}`}>
          <Text of={text} limit={400} />
        </div>
      ))}
      <Moment class="dim" of={row.event.timestamp} />
    </div>
  );
}

type MessageRowOptions = Pick<RowOptions, 'open' | 'onToggle'> & { row: Extract<Row, { kind: 'message' }> };

function MessageRow({ row: { event, messages }, open, onToggle }: MessageRowOptions): JSX.Element {
  const title = (
    <>
      <strong>
        <Name of={event.author} />
      </strong>
      {event.given === true && <span class="tag">{TEXTS.given}</span>}
      <Line of={messages.map(messageText).join(' ')} limit={100} />
      <Moment class="dim" of={event.timestamp} />
    </>
  );
  return (
    <Fold class="row message" open={open} onToggle={onToggle} titleClass="rowhead" title={title}>
      {() => messages.map((message, index) => <Text key={index} of={messageText(message)} />)}
    </Fold>
  );
}

function AnswerTitle({ row }: { row: AnswerRow }): JSX.Element {
  const { event, number, at, calls, text, step } = row;
  const { usage, estimated, caller } = event;
  const { tokens, cost } = spent(usage, estimated);
  const isCode = caller === 'code';
  return (
    <>
      <strong>{isCode ? TEXTS.byCode : at === undefined ? TEXTS.step(number) : <Name of={at} limit={60} />}</strong>
      {calls.map((one) => (
        <CallTitle key={one.call.toolCallId} row={one} />
      ))}
      <Line of={text} limit={100} />
      {step?.final === true && <span class="tag warn">{TEXTS.final}</span>}
      {event.interrupted === true && <span class="tag warn">{TEXTS.interrupted}</span>}
      {(tokens > 0 || cost !== undefined) && (
        <span class="dim amounts">
          {TEXTS.tokens(tokens)}
          {cost !== undefined && ` · ${dollars(cost)}`}
        </span>
      )}
      <Moment class="dim" of={event.timestamp} />
    </>
  );
}

/** A call in the title of its step: its tool, and what was decided about it. */
function CallTitle({ row }: { row: CallRow }): JSX.Element {
  const last = row.decisions.at(-1);
  return (
    <>
      <code>
        <Name of={row.call.name} limit={40} />
      </code>
      {last !== undefined && (
        <span class={`tag ${decisionTone(last)}`}>{ranWith(row) === undefined ? TEXTS.decided[last.type] : TEXTS.decidedEdited}</span>
      )}
    </>
  );
}

function AnswerBody({
  row,
  runId,
  timeline,
  waitsFor,
}: Pick<RowOptions, 'runId' | 'timeline' | 'waitsFor'> & { row: AnswerRow }): JSX.Element {
  const { event, number, at, calls, text, step } = row;
  const model = event.caller === 'code' ? undefined : timeline?.models.get(number);
  return (
    <div class="body">
      <p class="dim">
        {at === undefined && <Name of={event.author} />}
        {event.answeredBy !== undefined && (
          <>
            {' '}
            <Name of={TEXTS.answeredBy(event.answeredBy)} />
          </>
        )}
        {model?.ms !== undefined && ` · ${span(model.ms)}`}
        {model !== undefined && model.attempts > 1 && ` · ${TEXTS.attempts(model.attempts)}`}
      </p>
      {model?.failures.map(({ attempt, message }) => (
        <div key={attempt} class="note warn">
          <Text of={TEXTS.failedAttempt(attempt, message)} limit={500} />
        </div>
      ))}
      {text !== '' && <Text of={text} />}
      {step?.warnings?.map((warning) => (
        <Text key={warning} of={warning} limit={500} />
      ))}
      {step?.hooks?.map((hook, index) => (
        <HookLine key={index} hook={hook} />
      ))}
      {calls.map((call) => (
        <Call
          key={call.call.toolCallId}
          runId={runId}
          row={call}
          facts={timeline?.calls.get(call.call.toolCallId)}
          waitsFor={waitsFor(call.call.toolCallId)}
          child={(child) => <ChildSteps runId={child} />}
        />
      ))}
      {event.sources !== undefined && (
        <Fold title={TEXTS.sources(event.sources.length)}>{() => <Text of={JSON.stringify(event.sources, undefined, 2)} />}</Fold>
      )}
    </div>
  );
}

/** The steps of a child run, in the place of the call that has started it. */
function ChildSteps({ runId }: { runId: string }): JSX.Element {
  const { record, version, error } = useRecord(runId);
  const { read } = useTimeline(runId, useFacts(runId, record));
  return (
    <>
      {error !== undefined && <ProblemNote error={error} />}
      <Steps runId={runId} record={record} version={version} timeline={read} error={error} />
      <EndedFromOutside record={record} />
    </>
  );
}

/** The end of a run that did not record it: the server has ended it. */
export function EndedFromOutside({ record: { outside } }: { record: RunRecord }): JSX.Element | null {
  if (outside === undefined) return null;
  return (
    <section class="row ending" aria-labelledby="ending">
      <h2 id="ending">
        {TEXTS.ended} <span class="status bad">{outside.status}</span>
      </h2>
      <div class="note bad">
        <Text of={outside.text} />
      </div>
    </section>
  );
}

/** What the model writes at this moment. */
export function Live({ live }: { live: LiveAnswer }): JSX.Element {
  return (
    <div class="row live" aria-busy="true">
      <strong>{TEXTS.live}</strong>
      {live.reasoning !== '' && <Fold title={TEXTS.reasoning}>{() => <Text of={live.reasoning} />}</Fold>}
      <Text of={live.text} limit={20_000} />
      {[...live.inputs].map(([callId, { name, text }]) => (
        <div key={callId}>
          <code>
            <Name of={name} />
          </code>
          <Text of={text} />
        </div>
      ))}
    </div>
  );
}
