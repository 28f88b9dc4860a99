import { modelsOf, type ProgramDocument } from '../../domain/program-document.ts';

/** The part of a trace that no event tells. Times are in seconds since the epoch. */
export interface TraceHeader {
  programName: string;
  /** The provider of the program's model; empty for a program without model calls. */
  backendName: string;
  startTime: number;
  /** The time of the newest event. Absent if there is none. */
  endTime?: number;
}

/** Returns the names that the trace of a program begins with. */
export function traceNames(document: ProgramDocument): Pick<TraceHeader, 'programName' | 'backendName'> {
  const [model = ''] = [document.model, ...modelsOf(document)].filter((one) => one !== undefined && one !== '');
  return { programName: document.name, backendName: model.slice(0, Math.max(0, model.indexOf('/'))) };
}
