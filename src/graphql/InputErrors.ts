import {
  type ASTVisitor,
  type ExecutionArgs,
  type GraphQLError,
  type GraphQLInputType,
  getNamedType,
  getOperationAST,
  isInputObjectType,
  isInputType,
  isRequiredArgument,
  ProvidedRequiredArgumentsRule,
  specifiedRules,
  typeFromAST,
  type ValidationContext,
  type ValidationRule,
  type ValueNode,
  ValuesOfCorrectTypeRule,
  validate,
  validateInputLiteral,
  validateInputValue
} from "graphql"
import type { Plugin } from "graphql-yoga"
import type { ErrorDetail } from "../operations/ApiError.ts"
import { MAX_DETAILS } from "../operations/Failures.ts"
import { invalidInput, truncate } from "./Errors.ts"

/**
 * Input of the wrong type, refused before an operation sees it: in place of the GraphQL library's many errors one with
 * a detail for each place, as REST has it.
 */

/** Names the place as REST does: the fields of `input` plainly, other arguments by their name. */
const placeOf = (name: string, type: GraphQLInputType, path: ReadonlyArray<string | number>): string =>
  (isInputObjectType(getNamedType(type)) ? path : [name, ...path]).join(".")

/** The library puts a missing field down to the object around it; REST names the field. */
const toDetail = (
  name: string,
  type: GraphQLInputType,
  path: ReadonlyArray<string | number>,
  { message }: GraphQLError
): ErrorDetail => {
  const missing = /to include required field "(\w+)"/.exec(message)?.[1]
  return missing === undefined
    ? { path: placeOf(name, type, path), message: truncate(message) }
    : { path: placeOf(name, type, [...path, missing]), message: "Missing key" }
}

class Enough extends Error {}

/** Collects the details of one value until there are enough. */
const collect = (
  name: string,
  type: GraphQLInputType,
  check: (onError: (error: GraphQLError, path: ReadonlyArray<string | number>) => void) => void
): ReadonlyArray<ErrorDetail> => {
  const details: Array<ErrorDetail> = []
  try {
    check((error, path) => {
      details.push(toDetail(name, type, path, error))
      if (details.length >= MAX_DETAILS) throw new Enough()
    })
  } catch (error) {
    if (!(error instanceof Enough)) throw error
  }
  return details
}

const checkLiteral = (context: ValidationContext, name: string, value: ValueNode): void => {
  const type = context.getInputType()
  if (!type) return
  const details = collect(name, type, (onError) => validateInputLiteral(value, type, onError))
  if (details.length > 0) context.reportError(invalidInput(details))
}

/** Replaces `ValuesOfCorrectTypeRule` and `ProvidedRequiredArgumentsRule` of the GraphQL library. */
const ArgumentsRule = (context: ValidationContext): ASTVisitor => ({
  Argument: ({ name, value }) => checkLiteral(context, name.value, value),
  VariableDefinition: ({ defaultValue, variable }) => {
    if (defaultValue !== undefined) checkLiteral(context, variable.name.value, defaultValue)
  },
  Field: {
    leave: (node) => {
      const given = new Set(node.arguments?.map(({ name }) => name.value))
      const missing = context.getFieldDef()?.args.filter((arg) => isRequiredArgument(arg) && !given.has(arg.name)) ?? []
      if (missing.length > 0) {
        context.reportError(invalidInput(missing.map(({ name }) => ({ path: name, message: "Missing key" }))))
      }
    }
  }
})

/** What of the variables does not fit their types. */
const variableDetails = ({ document, operationName, schema, variableValues }: ExecutionArgs) =>
  (getOperationAST(document, operationName)?.variableDefinitions ?? []).flatMap(({ defaultValue, type, variable }) => {
    const name = variable.name.value
    const inputType = typeFromAST(schema, type)
    const value = variableValues && Object.hasOwn(variableValues, name) ? variableValues[name] : undefined
    if (!isInputType(inputType) || (value === undefined && defaultValue !== undefined)) return []
    return collect(name, inputType, (onError) => validateInputValue(value, inputType, onError))
  })

export const useInputErrors = (): Plugin => ({
  onValidate({ addValidationRule, setValidationFn }) {
    addValidationRule(ArgumentsRule)
    setValidationFn((schema, document, rules: ReadonlyArray<ValidationRule> = specifiedRules) =>
      validate(
        schema,
        document,
        rules.filter((rule) => rule !== ProvidedRequiredArgumentsRule && rule !== ValuesOfCorrectTypeRule)
      )
    )
  },
  onExecute({ args, setResultAndStopExecution }) {
    const details = variableDetails(args)
    if (details.length > 0) setResultAndStopExecution({ errors: [invalidInput(details)] })
  }
})
