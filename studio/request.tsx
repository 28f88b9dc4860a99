import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { hrefTo } from './address.ts';
import type { ContentItem, StepRequest } from './api-types.ts';
import { curlOf } from './curl.ts';
import { Answer, Fold, Note, Notes, useAction, useAnswer } from './parts.tsx';
import { loadLazily } from './lazy.ts';
import { mediaOf, messageText } from './record.ts';
import { Json, jsonText, Line, Name, Text } from './text.tsx';
import { TEXTS } from './texts.ts';

/** What the model was asked at a step: as sent, and as a difference to the step before. */
export function RequestPage({ runId, step }: { runId: string; step: number }): JSX.Element {
  const request = useAnswer('GET /v1/runs/{runId}/steps/{step}/request', { params: { runId, step }, query: { diff: 'previous' } });
  const status = useAnswer('GET /v1/runs/{runId}', { params: { runId } });
  const isLast = step >= (status.value?.currentStep ?? step);
  return (
    <>
      <header class="title">
        <h1>{TEXTS.requestOf(step)}</h1>
        <p class="dim">
          <a href={hrefTo(['runs', runId, 'steps', String(step)])}>
            <Name of={runId} limit={200} />
          </a>
        </p>
        <nav class="pages" aria-label={TEXTS.steps}>
          {step > 1 && <a href={hrefTo(['runs', runId, 'steps', String(step - 1), 'request'])}>← {TEXTS.before}</a>}
          {!isLast && <a href={hrefTo(['runs', runId, 'steps', String(step + 1), 'request'])}>{TEXTS.after} →</a>}
        </nav>
      </header>
      <Answer of={request}>{(value) => <Request value={value} />}</Answer>
    </>
  );
}

interface ModelRequest {
  instructions?: string[];
  messages?: unknown[];
  conversation?: unknown[];
  tools?: { name: string; description?: string }[];
  settings?: object;
}

function Request({ value }: { value: StepRequest }): JSX.Element {
  const { model, unknown, request, wire } = value;
  const { instructions = [], tools = [], settings, ...rest } = request as ModelRequest;
  const conversation = Object.values(rest).find((part): part is unknown[] => Array.isArray(part)) ?? [];
  return (
    <>
      <p>
        <Name of={model} />
      </p>
      {unknown.length > 0 && (
        <div class="note warn">
          <strong>{TEXTS.unknown}</strong>
          {unknown.map(({ part, reason }, index) => (
            <Text key={index} of={`${part}: ${reason}`} />
          ))}
        </div>
      )}
      <Difference value={value} />
      <section aria-labelledby="built">
        <h2 id="built">{TEXTS.rebuilt}</h2>
        <Fold title={`${TEXTS.system} (${instructions.length})`} open>
          {() => instructions.map((text, index) => <Text key={index} of={text} />)}
        </Fold>
        <Fold title={`${TEXTS.conversation} (${conversation.length})`} open>
          {() => conversation.map((item, index) => <Item key={index} item={item} />)}
        </Fold>
        <Fold title={`${TEXTS.tools} (${tools.length})`}>
          {() =>
            tools.map((tool) => (
              <Fold key={tool.name} title={<Name of={tool.name} />}>
                {() => <Json of={tool} />}
              </Fold>
            ))
          }
        </Fold>
        <Fold title={TEXTS.settings}>{() => <Json of={settings ?? {}} />}</Fold>
      </section>
      {wire === undefined ? <Note>{TEXTS.noWire}</Note> : <Wire wire={wire} />}
    </>
  );
}

/** An entry of the conversation: who has written it, and what. */
function Item({ item }: { item: unknown }): JSX.Element {
  const { author, content } = item as { author?: string; content?: unknown };
  if (!Array.isArray(content)) return <Json of={item} />;
  return (
    <div class="item">
      <p class="dim">
        <Name of={author} />
      </p>
      {(content as ContentItem[]).map((part, index) => (
        <Content key={index} part={part} />
      ))}
    </div>
  );
}

function Content({ part }: { part: ContentItem }): JSX.Element {
  if (part.type === 'message') return <Text of={messageText(part)} />;
  return (
    <div>
      <span class="dim">{part.type === 'tool_call' ? TEXTS.callOf : TEXTS.resultOf}</span>{' '}
      <code>
        <Name of={part.name} />
      </code>
      {part.type === 'tool_call' ? <Json of={part.arguments} /> : <Json of={part.content.map((one) => mediaOf(one) ?? one)} />}
      {part.type === 'tool_result' && <Notes notes={part.notes} />}
    </div>
  );
}

function Wire({ wire }: { wire: NonNullable<StepRequest['wire']> }): JSX.Element {
  const { outcome, act } = useAction();
  const copy = (): void =>
    act(async () => {
      // Not available to pages that are loaded without encryption from another machine.
      const { clipboard } = navigator as { clipboard?: Clipboard };
      if (clipboard === undefined) throw new Error(TEXTS.copyNeedsHttps);
      await clipboard.writeText(curlOf(wire));
      return TEXTS.copied;
    });
  return (
    <section aria-labelledby="wire">
      <div class="heading">
        <h2 id="wire">{TEXTS.wire}</h2>
        <code>
          <Name of={`${wire.api} ${wire.path}`} />
        </code>
        <button type="button" onClick={copy}>
          {TEXTS.copyCurl}
        </button>
      </div>
      {outcome}
      <Json of={wire.body} limit={20_000} />
    </section>
  );
}

function Difference({ value }: { value: StepRequest }): JSX.Element {
  const { diff, step } = value;
  return (
    <section aria-labelledby="diff">
      <h2 id="diff">{TEXTS.difference}</h2>
      {diff === undefined ? <Note>{TEXTS.noBefore}</Note> : <Parts diff={diff} />}
      {step > 1 && <Fold title={TEXTS.lines}>{() => <Lines value={value} />}</Fold>}
    </section>
  );
}

function Parts({ diff }: { diff: NonNullable<StepRequest['diff']> }): JSX.Element {
  const { commonPrefix, changed } = diff;
  const parts = Object.entries(TEXTS.diffParts) as [keyof typeof TEXTS.diffParts, string][];
  return (
    <>
      <p class="dim">{TEXTS.prefix(commonPrefix.tokens, commonPrefix.of)}</p>
      {parts
        .filter(([part]) => diff[part].length > 0)
        .map(([part, title]) => (
          <div key={part} class={`change ${part}`}>
            <h3>
              {title} ({diff[part].length})
            </h3>
            <ul>
              {diff[part].map(({ offset, index, type, name, text }) => (
                <li key={`${offset}.${index}`}>
                  <span class="dim">{type.replace('_', ' ')}</span> <Name of={name} /> <Line of={text} />
                </li>
              ))}
            </ul>
          </div>
        ))}
      {changed.length === 0 ? (
        <p class="dim">{TEXTS.noChange}</p>
      ) : (
        <p>
          {TEXTS.changed}: <Name of={changed.join(', ')} limit={500} />
        </p>
      )}
    </>
  );
}

interface DiffPart {
  value: string;
  added?: boolean;
  removed?: boolean;
}

/** Lines without a change that are shown around one. */
const AROUND = 3;

/** Both requests line by line. */
function Lines({ value }: { value: StepRequest }): JSX.Element {
  const { runId, step } = value;
  const before = useAnswer('GET /v1/runs/{runId}/steps/{step}/request', { params: { runId, step: step - 1 } });
  const [parts, setParts] = useState<DiffPart[]>();
  const earlier = before.value;
  useEffect(() => {
    if (earlier === undefined) return undefined;
    let isGone = false;
    const bodyOf = ({ wire, request }: StepRequest): string => jsonText(value.wire === undefined ? request : wire?.body);
    const compare = async (): Promise<void> => {
      const lines = await loadLazily(
        () => import('./lines.ts'),
        () => isGone,
      );
      if (!isGone && lines !== undefined) setParts(lines.lineDiff(bodyOf(earlier), bodyOf(value)));
    };
    void compare();
    return () => {
      isGone = true;
    };
  }, [earlier]);
  return (
    <Answer of={before}>
      {() => (
        <div class="lines">
          {parts?.map((part, index) => (
            <LinePart key={index} part={part} />
          ))}
        </div>
      )}
    </Answer>
  );
}

function LinePart({ part: { value, added, removed } }: { part: DiffPart }): JSX.Element {
  const lines = value.replace(/\n$/, '').split('\n');
  if (added)
    return (
      <ins>
        <Text of={lines.map((line) => `+ ${line}`).join('\n')} />
      </ins>
    );
  if (removed)
    return (
      <del>
        <Text of={lines.map((line) => `- ${line}`).join('\n')} />
      </del>
    );
  const shown = lines.length > 2 * AROUND + 1 ? [...lines.slice(0, AROUND), '…', ...lines.slice(-AROUND)] : lines;
  return <Text of={shown.map((line) => `  ${line}`).join('\n')} />;
}
