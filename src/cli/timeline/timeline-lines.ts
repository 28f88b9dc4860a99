import { decider } from '../../core/domain/approvals/approval.ts';
import type { Event } from '../../core/domain/record/event.ts';
import { outputText } from '../../core/domain/content/output-text.ts';
import type { ContentItem } from '../../core/domain/content/content.ts';
import { resultText } from '../../core/domain/content/tool-text.ts';
import { oneLine } from '../../core/domain/content/text.ts';
import { eventHeadline } from './event-headline.ts';
import { printableLine } from '../../core/domain/content/printable.ts';
import type { Output } from '../output.ts';
import type { TimelineItem } from './timeline.ts';
import { stepLines } from './step-lines.ts';

/** The bytes of a message that a line shows; `longhaul events` shows all. */
const SHOWN_BYTES = 300;

/** Returns the timeline of a run for people: a paragraph for each step, and lines for the events between steps. */
export function timelineLines(
  items: readonly TimelineItem[],
  output: Pick<Output, 'look'>,
  waiting: ReadonlySet<string> = new Set(),
): string[] {
  return items.flatMap((item, index) => {
    if (item.type === 'step') return ['', ...stepLines(item.step, output, { ...item, waiting })];
    const isFirst = items[index - 1]?.type !== 'event';
    return [...(isFirst ? [''] : []), ...eventLines(item.event, output)];
  });
}

/** Returns an event as a line, and each of its notices as one. */
function eventLines(event: Event, output: Pick<Output, 'look'>): string[] {
  const { author, content, notices = [] } = event;
  const hasOwn = notices.length === 0 || content.length > 0 || eventHeadline(event) !== undefined;
  const noted = notices.map(({ message }) => output.look('yellow', oneLine(printableLine(`note: ${message}`), SHOWN_BYTES)));
  return [...(hasOwn ? [eventLine(event, output)] : []), ...noted.map((text) => `${output.look('bold', printableLine(author))} · ${text}`)];
}

/** Returns an event as one line. */
export function eventLine(event: Event, output: Pick<Output, 'look'>): string {
  const headline = eventHeadline(event);
  const author = event.decision === undefined ? event.author : decider(event.decision);
  const items = event.content.map(itemText).join(' ');
  const text = oneLine(printableLine([items, headline?.text ?? ''].filter((part) => part.trim() !== '').join(' · ')), SHOWN_BYTES);
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
