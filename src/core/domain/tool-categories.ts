export const TOOL_CATEGORIES = ['read', 'write', 'execute', 'communicate', 'search', 'network'] as const;

/** The kind of effect that a tool has. @useDeclaredType */
export type ToolCategory = (typeof TOOL_CATEGORIES)[number];
