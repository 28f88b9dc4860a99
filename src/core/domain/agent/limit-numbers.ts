import type { LimitChanges, RunLimits } from './limits.ts';

const BY_TOOL = 'toolCallsByName.';

/** Returns limits by their names; those of the calls of single tools by `toolCallsByName.<tool>`. */
export function limitNumbers({ toolCallsByName = {}, ...limits }: LimitChanges | RunLimits): Map<string, number> {
  const numbers = new Map<string, number>();
  for (const [name, value] of Object.entries(limits)) if (typeof value === 'number') numbers.set(name, value);
  for (const [tool, value] of Object.entries(toolCallsByName)) numbers.set(nameOfTool(tool), value);
  return numbers;
}

/** Returns the name of the limit of the calls of one tool. */
export function nameOfTool(tool: string): string {
  return BY_TOOL + tool;
}

/** Returns the tool whose calls a limit bounds; undefined for all other limits. */
export function toolOfName(name: string): string | undefined {
  return name.startsWith(BY_TOOL) ? name.slice(BY_TOOL.length) : undefined;
}
