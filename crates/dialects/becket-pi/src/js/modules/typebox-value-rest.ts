// The names of `typebox/value` that becket does not serve yet. Each can be imported, and says so when it is used.
import { later } from "pi:lazy";

export const {
  CreateError, DefaultErrorFunction, Delete, Edit, EncodeUnsafe, GetErrorFunction, Insert, IsAsyncIterator,
  IsBigInt64Array, IsBigUint64Array, IsFloat32Array, IsFloat64Array, IsInstanceObject, IsInt16Array, IsInt32Array,
  IsInt8Array, IsIterator, IsLocalizedValidationError, IsMap, IsOptionalUndefined, IsPromise, IsRegExp, IsSet,
  IsTypedArray, IsUint16Array, IsUint32Array, IsUint8ClampedArray, IsValidationError, IsValueType, ParseDefault,
  ParseRegistry, Parser, Pipeline, SetErrorFunction, TransformDecode, TransformDecodeCheckError, TransformDecodeError,
  TransformEncode, TransformEncodeCheckError, TransformEncodeError, UnionPrioritySort, UnionScoreSelect, Update,
  ValueCastError, ValueCheckUnknownTypeError, ValueCreateError, ValueDiffError, ValueErrorIterator, ValueErrorType,
  ValueErrorsUnknownTypeError, ValueHashError, ValueMutateError,
} = later;

/** Those of them that are members of `Value` too. */
export const valueMembers = {
  Edit, ValueErrorIterator,
};
