import type { AgentSnapshot, WindowPolicy } from '../../../../src/core/domain/agent.ts';
import type { ContentItem } from '../../../../src/core/domain/content.ts';
import type { Window } from '../../../../src/core/domain/window.ts';
import type { SummaryOutcome, SummaryRequest } from '../../../../src/core/capabilities/compaction.ts';
import { type FakeScript, returned, runFake, tokens } from './fake-ports.ts';
import { testSnapshot, testTool } from './snapshot.ts';

/** An agent with a tool and a small window. */
export function agent(window: Partial<WindowPolicy> = {}, changes: Partial<AgentSnapshot> = {}): AgentSnapshot {
  const policy = { maxTokens: 1_000_000, maxBytes: 10_000, keepResults: 1, summarize: true, ...window };
  return testSnapshot({ tools: [testTool('t')], window: policy, limits: { steps: 300, finalAttempt: false }, ...changes });
}

/** A run, with the window of each model call and the requests for summaries. */
export async function watched(
  script: FakeScript,
  summary: Partial<SummaryOutcome> = {},
): Promise<Awaited<ReturnType<typeof runFake>> & { windows: Window[]; summaries: SummaryRequest[] }> {
  const windows: Window[] = [];
  const summaries: SummaryRequest[] = [];
  const model = script.model.map((one): FakeScript['model'][number] => (run) => {
    windows.push(run.state.window);
    return typeof one === 'function' ? one(run) : one;
  });
  const summarize = (request: SummaryRequest): Promise<SummaryOutcome> => {
    const id = `summary-${summaries.push(request)}`;
    return Promise.resolve({ type: 'summary', id, text: 'what came before', usage: tokens(100, 10), ...summary } as SummaryOutcome);
  };
  const run = await runFake({ ...script, model, ports: { summarize, ...script.ports } });
  return { ...run, windows, summaries };
}

/** A tool with results of this many characters, by call id. */
export function giving(...sizes: number[]): NonNullable<FakeScript['tools']> {
  return { t: ({ call: { toolCallId } }) => returned(letters(sizes[Number(toolCallId.slice(1)) - 1] ?? 0)) };
}

export function letters(count: number): string {
  return 'x'.repeat(count);
}

/** A description of a window: texts, calls by their id, results by their size or their marker. */
export function read(window: Window | undefined): string[] {
  return (window?.events ?? []).flatMap(({ content }) => content.map(brief));
}

function brief(item: ContentItem): string {
  switch (item.type) {
    case 'message':
      return typeof item.content === 'string' ? (item.content.split('\n')[0] ?? '').slice(0, 40) : 'parts';
    case 'tool_call':
      return `call ${item.toolCallId}`;
    case 'tool_result': {
      const text = typeof item.content[0] === 'string' ? item.content[0] : '';
      return text.startsWith('x') ? `${item.toolCallId}: ${text.length}` : `${item.toolCallId}: ${text}`;
    }
  }
}
