import { decider } from '../../../../src/core/domain/approvals.ts';
import { type ContentItem, outputText } from '../../../../src/core/domain/content.ts';
import type { Event } from '../../../../src/core/domain/record.ts';
import { resultText } from '../../../../src/core/domain/tool-calls.ts';

/** Describes each event of a run in a few words. */
export function eventSummaries({ events }: { events: readonly Event[] }): string[] {
  return events.map(told);
}

function told({ content, partial, decision, refused, raised, interrupted, failed }: Event): string {
  if (decision) return `${decision.type} ${decision.callId} by ${decider(decision)}`;
  if (refused) return `refused ${refused.request}: ${refused.code}`;
  if (raised) return `raised ${JSON.stringify(raised.limits)}`;
  if (failed) return `failed: ${failed.code}`;
  const mark = partial ? 'so far: ' : interrupted ? 'interrupted: ' : '';
  return `${mark}${content.map(brief).join(', ')}`;
}

function brief(item: ContentItem): string {
  switch (item.type) {
    case 'message':
      return `${item.role}: ${outputText(item.content)}`;
    case 'tool_call':
      return `${item.name}(${item.toolCallId})`;
    case 'tool_result':
      return `${item.toolCallId} ${item.status === 'error' ? 'failed' : 'gave'} "${resultText(item.content)}"`;
  }
}
