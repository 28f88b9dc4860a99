import { dollars } from '../../src/core/domain/model/dollars.ts';
import { sessionTotals } from '../../src/core/domain/sessions/session-totals.ts';
import type { OpenSession } from '../../src/core/sessions/open-session.ts';
import { limitsOf, sessionLimitReached } from '../../src/core/sessions/limit-reached.ts';
import { spentBySession } from '../../src/core/sessions/spent.ts';

/** Returns the turns of a session, and the amounts of all of them against its limits, as Markdown lines. */
export function sessionLines(state: OpenSession): string[] {
  const { turns, turn } = state.session;
  const limits = limitsOf(state);
  const reached = sessionLimitReached(state, Date.now());
  const { tokens, cost } = sessionTotals(spentBySession(state));
  const of = (limit: number | null): string => (limit === null ? '' : ` of ${limit}`);
  const amounts = [cost, ...(limits.costUsd === null ? [] : [limits.costUsd])].map(dollars).join(' of ');
  return [
    `- **${turn === undefined ? 'Turns' : 'Turn'}** ${turns}${of(limits.turns)}`,
    `- **Tokens of all turns** ${tokens}${of(limits.totalTokens)}`,
    ...(cost === 0 && limits.costUsd === null ? [] : [`- **Cost of all turns** ${shown(amounts)}`]),
    ...(reached === undefined ? [] : [`- **Limit** ${shown(reached.message)}: messages are refused until it is raised`]),
  ];
}

/** Returns the text for the UI, which renders text between two dollar signs as a formula. */
function shown(text: string): string {
  return text.replaceAll('$', '&#36;');
}
