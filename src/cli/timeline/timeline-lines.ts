import { decider } from '../../core/domain/approvals.ts';
import type { Event } from '../../core/domain/record.ts';
import { type ContentItem, outputText } from '../../core/domain/content.ts';
import { resultText } from '../../core/domain/tool-calls.ts';
import { eventHeadline } from './event-headline.ts';
import { printableLine } from '../../core/domain/text.ts';
import type { Output } from '../output.ts';
import type { TimelineItem } from './timeline.ts';
import { shownLine } from '../render/shown-text.ts';
import { type StepDetails, stepLines } from './step-lines.ts';

/** Returns the timeline of a run for people: a paragraph for each step, and lines for the events between steps. */
export function timelineLines(
  items: readonly TimelineItem[],
  output: Pick<Output, 'look'>,
  { waiting = new Set(), full = false }: Pick<StepDetails, 'waiting' | 'full'> = {},
): string[] {
  return items.flatMap((item, index) => {
    if (item.type === 'step') return ['', ...stepLines(item.step, output, { ...item, waiting, full })];
    const isFirst = items[index - 1]?.type !== 'event';
    return [...(isFirst ? [''] : []), ...eventLines(item.event, output, full)];
  });
}

/** Returns an event as a line, and each of its notices as one. */
function eventLines(event: Event, output: Pick<Output, 'look'>, full: boolean): string[] {
  const { author, content, notices = [] } = event;
  const hasOwn = notices.length === 0 || content.length > 0 || eventHeadline(event) !== undefined;
  const noted = notices.map(({ message }) => output.look('yellow', shownLine(`note: ${message}`, full)));
  return [
    ...(hasOwn ? [eventLine(event, output, full)] : []),
    ...noted.map((text) => `${output.look('bold', printableLine(author))} · ${text}`),
  ];
}

/** Returns an event as one line. */
export function eventLine(event: Event, output: Pick<Output, 'look'>, full = false): string {
  const headline = eventHeadline(event);
  const author = event.decision === undefined ? event.author : decider(event.decision);
  const items = event.content.map(itemText).join(' ');
  const text = shownLine([items, headline?.text ?? ''].filter((part) => part.trim() !== '').join(' · '), full);
  return `${output.look('bold', printableLine(author))} · ${headline === undefined ? text : output.look(headline.look, text)}`;
}

/** Returns an item as text. Calls and results are part of an event between steps only if the run was started with them. */
function itemText(item: ContentItem): string {
  switch (item.type) {
    case 'message':
      return outputText(item.content);
    case 'tool_call':
      return `→ ${item.name} ${JSON.stringify(item.arguments)}`;
    case 'tool_result':
      return `← ${item.status === 'error' ? 'error: ' : ''}${resultText(item.content)}`;
  }
}
