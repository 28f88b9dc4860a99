import type { AgentSnapshot } from '../../../core/domain/agent/agent-snapshot.ts';
import type { CodeLanguage } from '../../../core/domain/code/code-snapshot.ts';

const SPOKEN: Record<CodeLanguage, string> = { javascript: 'JavaScript', python: 'Python' };

/** Returns the instruction that describes the code format, the tools as functions, and the other functions that code has. */
export function codeInstructions({ tools, code, output }: AgentSnapshot): string {
  const language = code?.executor.language ?? 'javascript';
  const callable = tools.filter(({ callers }) => callers === undefined || callers.includes('code'));
  const imports = code?.executor.allowedImports ?? [];
  return [
    `Reply with exactly one block of ${SPOKEN[language]} that begins with \`\`\`${language} and ends with \`\`\`, and no other text. Write your thoughts as comments in it.`,
    'The code runs, and the next message is what it printed ("Observation: …") or its error. Variables stay for the next block.',
    `Call final_answer(value) once, with the result${output === undefined ? '' : ` as a value that matches this JSON Schema: ${JSON.stringify(output.schema)}`}. It ends the task.`,
    '',
    ...(imports.length === 0 ? ['No module can be imported.'] : [`Modules that can be imported: ${imports.join(', ')}.`]),
    ...functionLines(callable),
  ].join('\n');
}

function functionLines(tools: AgentSnapshot['tools']): string[] {
  return tools.map(({ name, description }) => `- ${name}: ${description}`);
}
