/** The cells of the run, one for each step. The step after these is the answer. */
export const CELLS: readonly string[] = [
  // Two calls together, whose results the next cells use.
  `const found = await Promise.all([1, 2].map((n) => tools.look_up({ n })));
print(found.join());`,
  // Local calls in a loop.
  `let noted = 0;
for (const text of found) noted += note({ text }).length;
print(noted);`,
  // A call that must happen once.
  `let paid;
try {
  paid = charge({ n: found.length });
} catch (error) {
  paid = error.message;
}
print(paid);`,
  // A call that a person decides about.
  `const refunded = refund({ n: found.length });
print(refunded);`,
  // A cell that fails, and keeps its changes.
  `found.push('third');
throw new Error('on purpose');`,
  // A callback that waits for calls.
  `const sorted = [3, 1, 2].sort((one, other) => look_up({ n: one }).length + one - look_up({ n: other }).length - other);
print(found.join(), sorted.join(), paid, refunded, noted);
final_answer({ found, sorted });`,
];

/** The call that needs a decision: the first call of the fourth cell. */
export const REFUND = 'c4.1';

/** The name of the effect of a call in the ledger. */
export function effectOf(tool: string, callId: string): string {
  return `${tool} ${callId}`;
}

/** The effects that are there at the end of every run, however it was disturbed. */
export const EFFECTS: readonly string[] = ['look_up c1.1', 'look_up c1.2', 'note c2.1', 'note c2.2', 'refund c4.1'];

/** The effect of the call that must happen once. If its worker dies during it, the code is told the outcome. */
export const CHARGE = 'charge c3.1';
