import { printableLine } from '../../core/domain/text.ts';
import type { Identity, RunSubject } from '../../core/domain/run.ts';
import { visibleText } from './visible-json.ts';

/** Returns whom a run acts for, for a person to read: `ada of acme`. Undefined if it acts for nobody in particular. */
export function principalText({ tenant, user }: Identity): string | undefined {
  if (user === undefined) return tenant === undefined ? undefined : shown(`tenant ${tenant}`);
  return shown(tenant === undefined ? user : `${user} of ${tenant}`);
}

/** Returns for whom and for what a run acts, as names and values. Each value is one line. */
export function subjectFacts({ agentName, title, question, tags = [], ...principal }: RunSubject): [name: string, value: string][] {
  const facts: [string, string | undefined][] = [
    ['agent', shown(agentName)],
    ['for', principalText(principal)],
    ['tags', tags.length === 0 ? undefined : shown(tags.join(', '))],
    ['title', title === undefined ? undefined : shown(title)],
    ['asked', question === undefined ? undefined : shown(question)],
  ];
  return facts.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] satisfies [string, string]]));
}

/** Returns a text on one line, with everything in it that a terminal would hide, or show in another order. */
function shown(text: string): string {
  return printableLine(visibleText(text));
}
