import type { AgentSnapshot, ToolSnapshot } from '../domain/agent/agent-snapshot.ts';
import type { CodeLanguage } from '../domain/code/code-snapshot.ts';
import { shortened } from '../domain/content/text.ts';
import { propertiesOf } from '../json-schema/json-schema.ts';
import { isJsonObject } from '../domain/json/json.ts';
import { mayCall, toolsFor } from './callers.ts';
import { toolSignature } from './signature/tool-signature.ts';

/** Characters of the text about all functions together; of the description of one; of that of a parameter; of all parameters of one. */
const MAX_LENGTH = { all: 30_000, tool: 1_000, parameter: 200, parameters: 1_500 };

/** Names of functions that are listed without a description. */
const MAX_LISTED = 100;

/** The beginning of a line with a comment, by language. */
const COMMENT: Readonly<Record<CodeLanguage, string>> = { javascript: '//', python: '#' };

/** Describes the tools that code of an agent may call: each as a function, with its description as a comment. */
export function describeFunctions(snapshot: Pick<AgentSnapshot, 'tools' | 'permissions'>, language: CodeLanguage): string {
  const tools = toolsFor('code', snapshot);
  const texts: string[] = [];
  let length = 0;
  for (const tool of tools) {
    const text = describeFunction(tool, language);
    length += text.length;
    if (length > MAX_LENGTH.all) break;
    texts.push(text);
  }
  const left = tools.slice(texts.length);
  return [...texts, ...(left.length === 0 ? [] : [listed(left, language)])].join('\n\n');
}

function describeFunction(tool: ToolSnapshot, language: CodeLanguage): string {
  const { text, hint } = toolSignature(tool, language);
  const parameters = hint === undefined ? parameterLines(tool) : [hintText(tool, hint)];
  const lines = [...shortened(tool.description.trim(), MAX_LENGTH.tool).split(/\r\n|[\n\r\u2028\u2029]/), ...parameters];
  return [...lines.map((line) => comment(line, language)), text].join('\n');
}

/** Returns a line for each parameter that has a description. */
function parameterLines({ schema }: ToolSnapshot): string[] {
  const lines: string[] = [];
  let length = 0;
  for (const [name, property] of Object.entries(propertiesOf(schema))) {
    const description = isJsonObject(property) ? property['description'] : undefined;
    if (typeof description !== 'string' || description.trim() === '') continue;
    const line = `  ${name}: ${shortened(description.trim().replaceAll(/\s+/g, ' '), MAX_LENGTH.parameter)}`;
    length += line.length;
    if (length > MAX_LENGTH.parameters) break;
    lines.push(line);
  }
  return lines;
}

function hintText(tool: ToolSnapshot, names: string): string {
  const where = mayCall('model', tool)
    ? `: see the parameters of the tool "${tool.name}"`
    : ', and arguments that do not fit throw an error that says what is expected';
  return `Its parameters are too long to show here${where}.${names === '' ? '' : ` They are named ${names}.`}`;
}

function listed(tools: readonly ToolSnapshot[], language: CodeLanguage): string {
  const names = tools.slice(0, MAX_LISTED).map(({ name }) => name);
  const more = tools.length - names.length;
  const text = `Further functions, which are not described here: ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}.`;
  return comment(text, language);
}

function comment(line: string, language: CodeLanguage): string {
  return `${COMMENT[language]} ${line}`.trimEnd();
}
