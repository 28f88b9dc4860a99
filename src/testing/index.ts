export { callTool, failWith, hang, malformed, say, structured, together } from './script-entry.ts';
export type { ScriptedCall, ScriptedDetails, ScriptedReply, ScriptEntry } from './script-entry.ts';
export { scriptedModel } from './scripted-model.ts';
export type { ScriptedModel, ScriptedModelOptions } from './scripted-model.ts';
