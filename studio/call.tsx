import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ask } from './api.ts';
import type { CallDetails, Decision, SpilledContent } from './api-types.ts';
import { reaches } from './caller.ts';
import { span, wholeMoment } from './format.ts';
import { Answer, Fold, Moment, Notes, ProblemNote, RunLink, useAnswer } from './parts.tsx';
import { type CallRow, mediaOf, ranWith } from './record.ts';
import { decisionText, decisionTone } from './notes.ts';
import type { CallFacts } from './timeline.tsx';
import { Fields, Json, Name, Text } from './text.tsx';
import { TEXTS } from './texts.ts';

interface CallOptions {
  runId: string;
  row: CallRow;
  facts: CallFacts | undefined;
  /** Why it has no result yet. */
  waitsFor: string;
  /** Shows the steps of a child run in place. */
  child: (runId: string) => JSX.Element;
}

/** A call of a step: arguments, attempts, result, and on demand everything that is recorded about it. */
export function Call({ runId, row, facts, waitsFor, child }: CallOptions): JSX.Element {
  const { call, decisions, result, record } = row;
  const ran = ranWith(row);
  const { childRunId, notRun, durationMs, hooks = [], caller } = record ?? {};
  // The time of a child is in the timeline: its call returns when it is told of the end.
  const ms = childRunId === undefined ? (durationMs ?? facts?.ms) : (facts?.ms ?? durationMs);
  return (
    <section class={`call ${result?.status === 'error' ? 'failed' : ''}`} aria-label={call.name}>
      <header>
        <code>
          <Name of={call.name} />
        </code>
        {ms !== undefined && ms !== null && <span class="dim">{span(ms)}</span>}
        {(facts?.attempts ?? 1) > 1 && <span class="tag warn">{TEXTS.attempts(facts?.attempts ?? 1)}</span>}
        {notRun !== undefined && <span class="tag bad">{TEXTS.notRun[notRun] ?? notRun}</span>}
        {caller === 'code' && <span class="tag">{TEXTS.byCode}</span>}
      </header>
      {ran !== undefined && <h3>{TEXTS.proposed}</h3>}
      <Fields of={call.arguments} limit={1_500} />
      {decisions.map((decision) => (
        <Decided key={decision.id} decision={decision} />
      ))}
      {ran !== undefined && (
        <>
          <h3>{TEXTS.ranWith}</h3>
          <Fields of={ran} limit={1_500} />
        </>
      )}
      {facts?.failures.map(({ attempt, message }) => (
        <div key={attempt} class="note warn">
          <Text of={TEXTS.failedAttempt(attempt, message)} limit={500} />
        </div>
      ))}
      {hooks.map((hook, index) => (
        <HookLine key={index} hook={hook} />
      ))}
      <Result runId={runId} result={result} waitsFor={waitsFor} />
      {childRunId !== undefined && <Child runId={childRunId} show={child} />}
      <Fold title={TEXTS.details}>{() => <Details runId={runId} callId={call.toolCallId} />}</Fold>
    </section>
  );
}

/** The answer of a hook, as the record has it. */
export function HookLine({ hook }: { hook: object }): JSX.Element {
  const { hook: name, answer, text } = hook as { hook?: string; answer?: string; text?: string };
  return (
    <div class="note warn">
      <span class="dim">{TEXTS.hooks}: </span>
      <Name of={name} /> {answer}
      {text !== undefined && <Text of={text} limit={500} />}
    </div>
  );
}

/** Who has decided about a call, what, and when. An answer is the result of the call, which comes after it. */
function Decided({ decision }: { decision: Decision }): JSX.Element {
  return (
    <div class={`decided tone-${decisionTone(decision)}`}>
      <Text of={decisionText(decision)} limit={400} />
      <Moment class="dim" of={decision.at} />
    </div>
  );
}

function Result({ runId, result, waitsFor }: { runId: string; result: CallRow['result']; waitsFor: string }): JSX.Element {
  if (result === undefined)
    return (
      <div class="dim">
        <Text of={waitsFor} limit={400} />
      </div>
    );
  const { status, content, spilled, notes } = result;
  return (
    <div class="result">
      <h3 class={status === 'error' ? 'bad' : undefined}>{status === 'error' ? TEXTS.error : TEXTS.result}</h3>
      {content.map((value, index) => (
        <ResultValue key={index} value={value} />
      ))}
      {spilled !== undefined && <Spilled runId={runId} spilled={spilled} />}
      <Notes notes={notes} />
    </div>
  );
}

/** One value of a result: a text as it is, media as what they are, anything else as JSON. */
function ResultValue({ value }: { value: unknown }): JSX.Element {
  const text =
    typeof value === 'string'
      ? value
      : (mediaOf(value) ??
        (typeof value === 'object' && value !== null && 'text' in value && typeof value.text === 'string' && Object.keys(value).length <= 2
          ? value.text
          : undefined));
  return text === undefined ? <Json of={value} limit={1_500} /> : <Text of={text} limit={1_500} />;
}

/** Reads content that is not in the record, if its reader asks for that. */
function Spilled({ runId, spilled: { bytes, sha256 } }: { runId: string; spilled: SpilledContent }): JSX.Element {
  const [content, setContent] = useState<unknown[]>();
  const [error, setError] = useState<unknown>();
  if (content !== undefined)
    return (
      <>
        {content.map((value, index) => (
          <ResultValue key={index} value={value} />
        ))}
      </>
    );
  const read = (): void =>
    void ask('GET /v1/runs/{runId}/spilled/{sha256}', { params: { runId, sha256 } }).then((answer) => setContent(answer.content), setError);
  return (
    <p>
      {TEXTS.spilled(bytes)}{' '}
      <button type="button" onClick={read}>
        {TEXTS.readWhole}
      </button>
      {error !== undefined && <ProblemNote error={error} />}
    </p>
  );
}

function Child({ runId, show }: { runId: string; show: (runId: string) => JSX.Element }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  return (
    <div class="child">
      <p>
        {TEXTS.child}{' '}
        <RunLink runId={runId}>
          <Name of={runId} />
        </RunLink>{' '}
        {reaches(runId) && (
          <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {isOpen ? TEXTS.hideChild : TEXTS.openChild}
          </button>
        )}
      </p>
      {isOpen && <div class="nested">{show(runId)}</div>}
    </div>
  );
}

function Details({ runId, callId }: { runId: string; callId: string }): JSX.Element {
  const details = useAnswer('GET /v1/runs/{runId}/calls/{callId}', { params: { runId, callId } });
  return <Answer of={details}>{(call) => <WholeCall call={call} />}</Answer>;
}

function WholeCall({ call }: { call: CallDetails }): JSX.Element {
  const { description, category, schema, callId, toolVersion, requestedAt, agentName } = call;
  const facts: [string, string | undefined][] = [
    [TEXTS.callId, callId],
    [TEXTS.agent, agentName],
    [TEXTS.requestedAt, requestedAt === undefined ? undefined : wholeMoment(requestedAt)],
    [TEXTS.version, toolVersion],
    [TEXTS.category, category],
  ];
  return (
    <div>
      <dl class="facts">
        {facts.map(([name, value]) =>
          value === undefined ? null : (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <Name of={value} />
              </dd>
            </div>
          ),
        )}
      </dl>
      {description !== undefined && <Text of={description} limit={600} />}
      {schema !== undefined && <Fold title={TEXTS.schema}>{() => <Json of={schema} />}</Fold>}
    </div>
  );
}
