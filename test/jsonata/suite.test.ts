// jsonata's own test suite over compiled expressions; a test for each of its groups.

import { describe, expect, test } from 'vitest'
import { failureOf, readSuite } from './suite.js'

const suite = readSuite()

describe.skipIf(suite === undefined)("jsonata's test suite", () => {
  if (suite === undefined) {
    test.skip('jsonata-suite.json is not there', () => {})
    return
  }
  for (const group of new Set(suite.cases.map(testcase => testcase.group))) {
    const cases = suite.cases.filter(testcase => testcase.group === group)
    test(group, () => {
      const failures = cases.map(testcase => [testcase, failureOf(suite, testcase)] as const).filter(([, failure]) => failure !== undefined)
      expect(failures.map(([testcase, failure]) => `${testcase.case}: ${testcase.expr}: ${failure}`)).toEqual([])
    })
  }
})
