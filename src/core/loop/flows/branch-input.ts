// Shared state: a flow whose agents act side by side.

import { type ContentItem, type ContentPart, type Message, outputText } from '../../domain/content.ts';
import type { RunState } from '../state/run-state.ts';

/** True for the run of a flow whose agents act side by side: it calls no model. */
export function isParallel({ snapshot }: Pick<RunState, 'snapshot'>): boolean {
  return snapshot.flow?.kind === 'parallel';
}

/** Returns the input of every agent of the flow: what the user has said. Undefined if others have spoken. */
export function branchInput({ window }: Pick<RunState, 'window'>): string | ContentPart[] | undefined {
  const said = window.events.flatMap(({ content }) => content.filter(({ type }) => type === 'message'));
  const [first, ...more] = said.filter(isOfUser);
  if (first === undefined || more.length < said.length - 1) return undefined;
  return more.length === 0 ? first.content : [first, ...more].map(({ content }) => outputText(content)).join('\n\n');
}

function isOfUser(item: ContentItem): item is Message {
  return item.type === 'message' && item.role === 'user';
}
