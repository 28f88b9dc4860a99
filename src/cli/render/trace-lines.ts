import { counted, oneLine, printableLine } from '../../core/domain/text.ts';
import type { ExecutionTrace, TraceEvent, TraceEventType, TraceSpan } from '../../core/domain/trace.ts';
import type { Look, Output } from '../output.ts';
import { branches } from './branches.ts';

/** The bytes of the data of an event that a line shows; `--json` shows all. */
const SHOWN_BYTES = 160;

/** Returns a trace as a tree: spans with their events and the spans inside of them, in the order of their times. */
export function traceLines(trace: ExecutionTrace, output: Pick<Output, 'look'>): string[] {
  const { programName, backendName, durationMs, totalEvents, spans, startTime } = trace;
  const facts = [backendName, `${(durationMs / 1000).toFixed(2)}s`, counted(totalEvents, 'event')].filter((fact) => fact !== '');
  return [
    `${output.look('bold', printableLine(programName))} ${output.look('dim', `· ${facts.map(printableLine).join(' · ')}`)}`,
    ...branches(spans, (span) => spanLines(span, startTime, output), output),
  ];
}

function spanLines(span: TraceSpan, startTime: number, output: Pick<Output, 'look'>): string[] {
  const took = span.endTime === undefined ? 'open' : `${(span.endTime - span.startTime).toFixed(2)}s`;
  const parts = [
    ...span.events.map((event) => ({ at: event.timestamp, lines: () => [eventLine(event, startTime, output)] })),
    ...span.children.map((child) => ({ at: child.startTime, lines: () => spanLines(child, startTime, output) })),
  ].toSorted((one, other) => one.at - other.at);
  return [
    `${output.look('bold', printableLine(span.name))} ${output.look('dim', `· ${took}`)}`,
    ...branches(parts, ({ lines }) => lines(), output),
  ];
}

const LOOKS: Partial<Record<TraceEventType, Look>> = {
  anchor_breach: 'red',
  validation_fail: 'red',
  retry_attempt: 'yellow',
  refine_start: 'yellow',
};

function eventLine(
  { event_type: type, timestamp, step_name: step, data }: TraceEvent,
  startTime: number,
  output: Pick<Output, 'look'>,
): string {
  const look = LOOKS[type];
  const name = look === undefined ? type : output.look(look, type);
  const time = output.look('dim', `${Math.max(0, timestamp - startTime).toFixed(2)}s`);
  const details = data === undefined ? '' : ` ${output.look('dim', printableLine(oneLine(JSON.stringify(data), SHOWN_BYTES)))}`;
  return `${time} ${step === undefined ? '' : `${printableLine(step)} `}${name}${details}`;
}
