// The names of `typebox/compile` that becket does not serve yet. Each can be imported, and says so when it is used.
import { later } from "pi:lazy";

export const {
  Policy, TypeCompilerTypeGuardError, TypeCompilerUnknownTypeError, ValueErrorIterator, ValueErrorType,
} = later;
