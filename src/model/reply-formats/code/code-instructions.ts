import { describeFunctions } from '../../../core/code/describe-functions.ts';
import { codeRules } from '../../../core/code/describe-run-code.ts';
import { LANGUAGE_NAMES } from '../../../core/code/language-names.ts';
import type { AgentSnapshot } from '../../../core/domain/agent/agent-snapshot.ts';

const FENCE = '```';

/** The functions that code has besides the tools. */
const NAMESPACE = [
  'store(name, value) keeps a value in the working memory, which you see with each observation; recall(name, default) returns it.',
  'observe(text) notes in the working memory what you have learned.',
  'uncertain(text), explore(text) and commit(text) say in the output how sure you are of your way.',
];

/** Returns the instruction that describes the code format, the tools as functions, and the other functions that code has. */
export function codeInstructions(snapshot: AgentSnapshot): string {
  const { code, output } = snapshot;
  if (code === undefined) return '';
  const { executor } = code;
  const { language } = executor;
  const answer = output === undefined ? '' : ` It must match this JSON Schema: ${JSON.stringify(output.schema)}`;
  return [
    `Reply with exactly one block of ${LANGUAGE_NAMES[language]} code and no other text. It begins with ${FENCE}${language} and ends with ${FENCE}. Write your thoughts in it, as comments.`,
    'The code runs, isolated. The next message is what it printed ("Observation: …"), or its error.',
    `Call final_answer(value) once, with the result of the task: the task then ends.${answer}`,
    '',
    `The code can call these functions, besides what ${LANGUAGE_NAMES[language]} has:`,
    '',
    describeFunctions(snapshot, language),
    '',
    'Rules:',
    ...[...codeRules(code, snapshot), ...NAMESPACE].map((rule) => `- ${rule}`),
  ].join('\n');
}
