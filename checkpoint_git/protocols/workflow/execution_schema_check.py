"""Whether a value is surely valid. Made from the schema beside it by .ci/write-schema-checks and never edited: a test
compares it with what the schema says today, and no linter or type checker reads it."""
# mypy: ignore-errors



def check(value):
    if type(value) is not dict:
        return False
    member1 = value.get('workflow_id')
    if type(member1) is not str or not member1:
        return False
    member1 = value.get('last_updated')
    if type(member1) is not str or not member1:
        return False
    member1 = value.get('tasks')
    if type(member1) is not list:
        return False
    for item2 in member1:
        if type(item2) is not dict:
            return False
        member3 = item2.get('id')
        if type(member3) is str:
            if not member3:
                return False
        elif not (type(member3) is int or type(member3) is float):
            return False
        member3 = item2.get('status')
        if type(member3) is not str or not member3:
            return False
        if 'started_at' in item2:
            member3 = item2['started_at']
            if not (type(member3) is str or member3 is None):
                return False
        if 'completed_at' in item2:
            member3 = item2['completed_at']
            if not (type(member3) is str or member3 is None):
                return False
        if 'output' in item2:
            member3 = item2['output']
            if not (type(member3) is str or member3 is None):
                return False
        if 'error' in item2:
            member3 = item2['error']
            if not (type(member3) is str or member3 is None):
                return False
        if 'attempts' in item2:
            member3 = item2['attempts']
            if not (type(member3) is int or (type(member3) is float and member3.is_integer())):
                return False
            if not member3 >= 0:
                return False
        if 'max_attempts' in item2:
            member3 = item2['max_attempts']
            if not (type(member3) is int or (type(member3) is float and member3.is_integer())):
                return False
            if not member3 >= 1:
                return False
    return True
