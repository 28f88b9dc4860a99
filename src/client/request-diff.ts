import type { AgentSnapshot } from '../core/domain/agent.ts';
import { type ContentItem, outputText } from '../core/domain/content.ts';
import { defined } from '../core/domain/defined.ts';
import { isRecall } from '../core/domain/memory.ts';
import type { ModelRequest } from '../core/domain/model.ts';
import { BYTES_PER_TOKEN, estimatedTokens } from '../core/domain/snapshot-sizes.ts';
import type { RequestDiff, RequestItem } from '../core/domain/step-request.ts';
import { oneLine, utf8Length } from '../core/domain/text.ts';
import { resultText } from '../core/domain/tool-calls.ts';
import { isEvicted, type WindowEvent } from '../core/domain/window.ts';

/** A request that was built from the record. */
export interface RebuiltRequest {
  step: number;
  model: string;
  snapshot: AgentSnapshot;
  /** The conversation, by the events of the record. */
  events: readonly WindowEvent[];
  request: ModelRequest;
}

/** Bytes of the text of an item. */
const TEXT_BYTES = 200;

/** The characters of an item that are looked at. */
const READ_CHARACTERS = 1_000;

/** Returns how a request differs from another one of the same run. */
export function requestDiff(before: RebuiltRequest, now: RebuiltRequest): RequestDiff {
  const known = new Map(before.events.map((event) => [event.offset, event]));
  const present = new Map(now.events.map((event) => [event.offset, event]));
  const added = now.events.filter(({ offset }) => !known.has(offset));
  const left = before.events.filter(({ offset }) => !present.has(offset));
  const evicted = now.events.flatMap((event) => itemsOf(event).filter((_, index) => isEvictedSince(known.get(event.offset), event, index)));
  return {
    step: before.step,
    added: added.flatMap(itemsOf),
    evicted,
    summarised: left.flatMap(itemsOf),
    recalled: added.filter(isRecall).flatMap(itemsOf),
    changed: changedParts(before.request, now.request),
    commonPrefix: commonPrefix(before.request, now.request),
  };
}

function isEvictedSince(before: WindowEvent | undefined, now: WindowEvent, index: number): boolean {
  const [then, item] = [before?.content[index], now.content[index]];
  return then?.type === 'tool_result' && item?.type === 'tool_result' && isEvicted(item) && !isEvicted(then);
}

function itemsOf({ offset, author, content }: WindowEvent): RequestItem[] {
  return content.map((item, index) => ({ offset, index, author, type: item.type, ...describedItem(item) }));
}

function describedItem(item: ContentItem): Pick<RequestItem, 'name' | 'callId' | 'text'> {
  switch (item.type) {
    case 'message':
      return { name: item.role, text: beginning(outputText(item.content)) };
    case 'tool_call':
      return { name: item.name, ...defined({ callId: item.toolCallId }), text: beginning(JSON.stringify(item.arguments)) };
    case 'tool_result':
      return { name: item.name, ...defined({ callId: item.toolCallId }), text: beginning(resultText(item.content)) };
  }
}

function beginning(text: string): string {
  return oneLine(text.slice(0, READ_CHARACTERS), TEXT_BYTES);
}

/** Returns the names of the parts besides the conversation that differ. */
function changedParts(before: ModelRequest, now: ModelRequest): string[] {
  const parts = (request: ModelRequest): Map<string, string> =>
    new Map([
      ['model', request.model],
      ...request.instructions.map((text, index): [string, string] => [`instructions/${index}`, text]),
      ...request.tools.map((tool): [string, string] => [`tools/${tool.name}`, JSON.stringify(tool)]),
      ...(request.hosted ?? []).map((tool): [string, string] => [`hosted/${tool.name}`, JSON.stringify(tool)]),
      ...Object.entries(request.settings).map(([name, value]): [string, string] => [`settings/${name}`, JSON.stringify(value)]),
      ...(request.output === undefined ? [] : [['output', JSON.stringify(request.output)] as [string, string]]),
    ]);
  const [then, after] = [parts(before), parts(now)];
  return [...new Set([...then.keys(), ...after.keys()])].filter((name) => then.get(name) !== after.get(name));
}

/** Returns what two requests begin with, in tokens. The caches of providers take tools first, then instructions, then the conversation. */
function commonPrefix(before: ModelRequest, now: ModelRequest): RequestDiff['commonPrefix'] {
  const texts = ({ tools, hosted = [], output, instructions, conversation }: ModelRequest): string[] =>
    [...tools, ...hosted, ...(output === undefined ? [] : [output]), ...instructions, ...conversation].map((part) => JSON.stringify(part));
  const [then, after] = [texts(before), texts(now)];
  const all = estimatedTokens(after.reduce((sum, text) => sum + utf8Length(text), 0));
  if (before.model !== now.model) return { tokens: 0, of: all };
  let bytes = 0;
  for (const [index, text] of after.entries()) {
    const other = then[index] ?? '';
    if (text === other) {
      bytes += utf8Length(text);
      continue;
    }
    let same = 0;
    while (same < text.length && text[same] === other[same]) same += 1;
    bytes += utf8Length(text.slice(0, same));
    break;
  }
  return { tokens: Math.min(all, Math.floor(bytes / BYTES_PER_TOKEN)), of: all };
}
