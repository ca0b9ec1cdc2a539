# bash completion for checkpoint, git checkpoint and checkpoint-doctor
_checkpoint() {
    local value text shell=
    COMPREPLY=()
    while IFS=$'\t' read -r value text; do
        case $value in
            :files | :folders) shell=$value ;;
            *) COMPREPLY+=("$value") ;;
        esac
    done < <(command checkpoint complete --breaks="$COMP_WORDBREAKS" --line="${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
    case $shell in
        :files) compopt -o default 2>/dev/null ;;
        :folders) compopt -o dirnames 2>/dev/null ;;
    esac
    case ${#COMPREPLY[@]}:${COMPREPLY[0]} in
        1:*[=.\[]) compopt -o nospace 2>/dev/null ;;
    esac
}
_git_checkpoint() { _checkpoint; }
complete -F _checkpoint checkpoint git-checkpoint checkpoint-doctor
